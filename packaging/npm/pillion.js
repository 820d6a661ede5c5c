#!/usr/bin/env node
// Starts the pillion program of this platform, which is a package of its own. Nothing is
// downloaded here: npm installs the one whose `os`, `cpu` and `libc` fit.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { isatty } = require("node:tty");

/** The package with the program for this machine. */
function platformPackage() {
  let name = `@pillion/${process.platform}-${process.arch}`;
  if (process.platform === "linux") {
    process.report.excludeNetwork = true; // The report would look up names of hosts.
    const { header } = process.report.getReport();
    if (!header.glibcVersionRuntime) name += "-musl";
  }
  return name;
}

/** The program, or an explanation of why there is none. */
function program() {
  const name = platformPackage();
  try {
    return require.resolve(`${name}/bin/pillion`);
  } catch {
    const known = Object.keys(require("./package.json").optionalDependencies ?? {});
    const why = known.includes(name)
      ? "npm left it out: install again without `--no-optional` and `--omit=optional`"
      : `there are programs for ${known.join(", ")}`;
    process.stderr.write(`error: the package \`${name}\` is not installed\nhint: ${why}\n`);
    process.exit(1);
  }
}

// What is sent to this process is for the program, which decides how it ends. What is typed on a
// terminal (Ctrl-C, Ctrl-\) reaches both of us, and must not reach the program twice. SIGKILL
// cannot be passed on: the program sees that its standard input has ended. A signal may come as
// soon as the program runs, so this stands before its start.
const typed = isatty(0) ? ["SIGINT", "SIGQUIT"] : [];
for (const signal of ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"]) {
  process.on(signal, () => typed.includes(signal) || child.kill(signal));
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });

child.on("error", (error) => {
  process.stderr.write(`error: pillion cannot be started: ${error.message}\n`);
  process.exit(1);
});

// End as the program ended.
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // Not every signal ends a process that has no handler for it.
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});
