"""A person at `jupyter console --existing FILE`, in a terminal."""

import sys

import pexpect

DEADLINE = 60


def main():
    command = ["-m", "jupyter_console", "--existing", sys.argv[1], "--simple-prompt"]
    console = pexpect.spawn(sys.executable, command, timeout=DEADLINE, encoding="utf-8")
    try:
        console.expect(r"In \[\d+\]: ")
        console.sendline("'joined' in globals()")
        console.expect("True")
        console.expect(r"In \[\d+\]: ")
        console.sendline("print(6 * 7); told = 1")
        console.expect("42")
        console.expect(r"In \[\d+\]: ")
        console.sendline("quit(keep_kernel=True)")
        console.expect(pexpect.EOF)
    except pexpect.ExceptionPexpect:
        sys.stderr.write(console.before or "")
        raise
    print("as told")


if __name__ == "__main__":
    main()
