//! The walls around a kernel, tried from inside a cell.

use pillion_testing::kernels::python_for_all;
use pillion_testing::{TestContext, is_root};
use serde_json::json;

use super::{NOBODY, World};

#[test]
fn a_cell_sees_its_folder_and_nothing_of_the_user() {
    let mut world = World::new();
    let secret = world.context.write("secret.txt", "TOP");
    let ran = world.run(&format!(
        "import os\nopen('made.txt', 'w').write('x')\nfound = []\n\
         for path in [{secret:?}, '/root', '/home', {home:?}]:\n    \
         try:\n        found.append(open(path).read() if os.path.isfile(path) else os.listdir(path))\n    \
         except OSError as error:\n        pass\n\
         print(os.getcwd(), found, dict(os.environ).get('PILLION_HOME'))",
        home = world.context.base.join("pillion"),
    ));
    assert_eq!(ran["stdout"], "/lane/work [] None\n", "{ran}");
    let made = world
        .context
        .base
        .join("pillion/data/sessions/default/user_workspace/made.txt");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "x");
}

#[test]
fn a_cell_reaches_nobody() {
    let mut world = World::new();
    let socket = world.context.socket();
    let ran = world.run(&format!(
        "import socket\n\
         def tried(make):\n    \
         try:\n        make()\n        return 'ESCAPED'\n    \
         except OSError as error:\n        return type(error).__name__\n\
         print(tried(lambda: socket.socket(socket.AF_UNIX).connect({socket:?})))\n\
         print(tried(lambda: socket.create_connection(('1.1.1.1', 80), 2)))\n\
         print(tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53))))\n\
         print(tried(lambda: open('/proc/1/mem', 'rb').read(1)))"
    ));
    let printed = ran["stdout"].as_str().unwrap();
    assert!(
        !printed.contains("ESCAPED") && printed.lines().count() == 4,
        "{ran}"
    );
}

#[test]
fn children_that_a_cell_forks_can_print() {
    let mut world = World::new();
    let ran = world.run_with(json!({"code":
        "import os, time\npid = os.fork()\nif pid == 0:\n    print('from the child', flush=True)\n    \
         os._exit(0)\nos.waitpid(pid, 0)\ntime.sleep(1)\nprint('done')"}));
    assert_eq!(ran["success"], true, "{ran}");
    let printed = ran["stdout"].as_str().unwrap();
    assert!(
        printed.contains("done") && printed.contains("from the child"),
        "{ran}"
    );
}

#[test]
fn without_namespaces_a_kernel_starts_again_and_again() {
    // Root's lanes are those of another user there, who reads neither our folders nor our Python.
    let user = is_root().then_some(NOBODY);
    let mut context = TestContext::new().for_user(user);
    context.set_env("PILLION_LANES_LEVEL", "L2");
    let mut world = World::with(context);
    if user.is_some() {
        world.python = python_for_all(&world.context);
    }
    for _ in 0..2 {
        let ran = world.run("import os\nos.getcwd().split('/')[-2:]");
        assert_eq!(ran["result_repr"], "['default', 'user_workspace']", "{ran}");
        world.ask("shutdown", json!({}));
    }
}
