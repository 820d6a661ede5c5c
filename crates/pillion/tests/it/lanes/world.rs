//! A daemon for lanes, who runs it, and everything around it that is worth an attack.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use pillion_testing::daemon::Daemon;
use pillion_testing::rpc::Rpc;
use pillion_testing::{DEADLINE, TestContext, can_be_others, is_root, wait_for};
use serde_json::{Value, json};

/// Small limits, so that each attack meets its own soon.
const CONFIG: &str = "
[lanes.expert]
slots = 2
memory_mb = 128
processes = 24
disk_mb = 16
disk_files = 200
output_kb = 256
[lanes.user]
slots = 2
memory_mb = 128
processes = 24
disk_mb = 16
disk_files = 200
output_kb = 256
";
/// Attacks at the same time. One more run finds its place beside them.
const AT_ONCE: usize = 3;
const NOBODY: u32 = 65_534;

/// Who runs the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Root,
    Ordinary,
}

impl Who {
    /// Whether we can be this one: only root can be both. If not, that is said.
    pub(super) fn is_possible(self) -> bool {
        self == Self::Ordinary || can_be_others("lanes of a daemon that root runs")
    }
}

/// A user whom nobody else is, in this run of the tests or in another: without namespaces all
/// processes of a user share the limit of their number that the kernel keeps.
fn nobody_else() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    20_000 + std::process::id() % 8_000 * 5 + count % 5
}

/// One way to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) lane: &'static str,
    /// An interpreter of its own, none from a zygote.
    pub(super) fresh: bool,
}

/// Both lanes, from a zygote and without.
pub(super) const WAYS: [Way; 4] = [
    way("expert", false),
    way("expert", true),
    way("user", false),
    way("user", true),
];
/// Both lanes, where there are no zygotes.
pub(super) const FRESH_WAYS: [Way; 2] = [way("expert", true), way("user", true)];

const fn way(lane: &'static str, fresh: bool) -> Way {
    Way { lane, fresh }
}

/// A daemon, and what is around it.
pub(super) struct World {
    pub(super) daemon: Daemon,
    pub(super) context: TestContext,
    pub(super) level: &'static str,
    who: Who,
    sessions: AtomicU32,
    listeners: Listeners,
}

/// What listens on this machine, and must not hear anything.
struct Listeners {
    tcp: TcpListener,
    _abstract: UnixListener,
    datagrams: UnixDatagram,
}

impl Listeners {
    fn new(context: &TestContext) -> Self {
        let name = abstract_name(&context.base);
        let address = SocketAddr::from_abstract_name(name).unwrap();
        let datagrams = context.base.join("outside/datagrams");
        let listeners = Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            _abstract: UnixListener::bind_addr(&address).unwrap(),
            datagrams: UnixDatagram::bind(&datagrams).unwrap(),
        };
        fs::set_permissions(datagrams, fs::Permissions::from_mode(0o777)).unwrap();
        listeners.tcp.set_nonblocking(true).unwrap();
        listeners.datagrams.set_nonblocking(true).unwrap();
        listeners
    }

    fn assert_quiet(&self) {
        let heard = self.tcp.accept();
        assert!(heard.is_err(), "somebody connected: {heard:?}");
        let heard = self.datagrams.recv(&mut [0; 16]);
        assert!(heard.is_err(), "somebody sent a message: {heard:?}");
    }
}

fn abstract_name(base: &Path) -> String {
    format!("it-{}", base.file_name().unwrap().to_string_lossy())
}

impl World {
    /// A world, if there can be one.
    pub(super) fn of(who: Who, level: &'static str) -> Option<Self> {
        Self::with(who, level, CONFIG)
    }

    /// A world with other limits.
    pub(super) fn with(who: Who, level: &'static str, config: &str) -> Option<Self> {
        who.is_possible().then(|| Self::new(who, level, config))
    }

    fn new(who: Who, level: &'static str, config: &str) -> Self {
        let ordinary = match level {
            "L2" => nobody_else(),
            _ => NOBODY,
        };
        let user = (who == Who::Ordinary && is_root()).then_some(ordinary);
        let mut context = TestContext::new().config(config).for_user(user);
        context.set_env(
            "PILLION_IT_API_KEY",
            format!("sk-it-{}", "0123456789abcdef".repeat(2)),
        );
        context.set_env("PILLION_LANES_LEVEL", level);
        if who == Who::Root && level == "L2" {
            // Code runs as another user, who needs a Python of its own and a way to it.
            context.set_env("PATH", "/usr/local/bin:/usr/bin:/bin");
            fs::set_permissions(&context.base, fs::Permissions::from_mode(0o711)).unwrap();
        }
        let outside = context.base.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret.txt"), "secret").unwrap();
        // Whoever gets there may do what he likes.
        for (path, mode) in [
            (outside.clone(), 0o777),
            (outside.join("secret.txt"), 0o666),
        ] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        for path in [&outside, &outside.join("secret.txt")] {
            let (name, value) = ("user.secret", b"secret");
            rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
        }
        let listeners = Listeners::new(&context);
        let daemon = context.daemon();
        let world = Self {
            daemon,
            context,
            level,
            who,
            sessions: AtomicU32::new(0),
            listeners,
        };
        world.prepare();
        world
    }

    /// A session of somebody else; and that this is the level we asked for.
    fn prepare(&self) {
        let mut rpc = self.daemon.connect();
        let code = "open('secret.txt', 'w').write('secret'); open('large', 'w').write('x')";
        let params = json!({"code": code, "lane": "user", "session": "other",
            "root": self.context.project, "fresh": true});
        let reply = rpc.call("exec.run", params).unwrap();
        assert_eq!(reply["outcome"], "ok", "{:?}: {reply}", self.who);
        assert_eq!(reply["level"], self.level, "{:?}: {reply}", self.who);
        let secret = self.session("other").join("secret.txt");
        assert!(secret.is_file(), "no {}", secret.display());
    }

    /// Whether somebody else than we runs the daemon.
    pub(super) fn is_of_others(&self) -> bool {
        self.who == Who::Ordinary && is_root()
    }

    /// The folder of a session.
    pub(super) fn session(&self, name: &str) -> PathBuf {
        let sessions = self.context.base.join("pillion/data/sessions");
        sessions.join(name).join("user_workspace")
    }

    /// A session that nobody had before.
    pub(super) fn new_session(&self) -> String {
        format!("s{}", self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    /// What `exec.run` is asked, to run this attack in this way. `more` adds to it.
    pub(super) fn order(&self, way: Way, code: &str, args: &[(&str, &str)], more: Value) -> Value {
        let context = &self.context;
        let base = context.base.to_str().unwrap();
        let port = self.listeners.tcp.local_addr().unwrap().port();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let facts = [
            ("level", self.level.to_owned()),
            ("lane", way.lane.to_owned()),
            ("start", if way.fresh { "cold" } else { "warm" }.to_owned()),
            ("mark", base.to_owned()),
            ("outside", format!("{base}/outside")),
            ("other", self.session("other").to_str().unwrap().to_owned()),
            ("socket", context.socket().to_str().unwrap().to_owned()),
            ("datagrams", format!("{base}/outside/datagrams")),
            ("abstract", abstract_name(&context.base)),
            ("daemon", self.daemon.pid.to_string()),
            ("port", port.to_string()),
            ("host", "10.0.0.1".to_owned()),
            ("name", host.trim().to_owned()),
        ];
        let given = args.iter().map(|(name, value)| format!("{name}={value}"));
        let facts = facts.iter().map(|(name, value)| format!("{name}={value}"));
        let mut order = json!({
            "code": format!("{}\n{code}", include_str!("attacks/prelude.py")),
            "lane": way.lane, "fresh": way.fresh, "root": context.project,
            "args": facts.chain(given).collect::<Vec<_>>(),
        });
        if way.lane == "user" {
            order["session"] = self.new_session().into();
        }
        let order_object = order.as_object_mut().unwrap();
        order_object.extend(more.as_object().unwrap().clone());
        order
    }

    /// Run all of them, some at once, while the daemon answers and other runs end well.
    /// `check` sees each reply with its order.
    pub(super) fn storm(&self, orders: Vec<Value>, check: impl FnMut(&Value, &Value)) {
        self.storm_of(AT_ONCE, orders, check);
    }

    /// The same, so many at once.
    pub(super) fn storm_of(
        &self,
        at_once: usize,
        orders: Vec<Value>,
        mut check: impl FnMut(&Value, &Value),
    ) {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let canary = scope.spawn(|| self.live_beside(&over));
            let mut rpc = self.daemon.connect();
            let mut waiting: Vec<(u64, Value)> = Vec::new();
            let mut orders = orders.into_iter();
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                loop {
                    while waiting.len() < at_once {
                        let Some(order) = orders.next() else { break };
                        waiting.push((rpc.send("exec.run", order.clone()), order));
                    }
                    if waiting.is_empty() {
                        break;
                    }
                    let answered = waiting.iter().position(|(id, _)| rpc.is_answered(*id));
                    let Some(at) = answered else {
                        std::thread::sleep(std::time::Duration::from_millis(5));
                        continue;
                    };
                    let (id, order) = waiting.remove(at);
                    let reply = rpc.outcome(id);
                    // Its time was over before it began: this machine is busy.
                    if let Some(more) = more_time(&order, &reply) {
                        waiting.push((rpc.send("exec.run", more.clone()), more));
                        continue;
                    }
                    let reply = reply.unwrap_or_else(|e| panic!("{}: {e}", brief(&order)));
                    let from_zygote = reply["start"] == "slot" || reply["start"] == "fork";
                    assert_eq!(
                        from_zygote,
                        order["fresh"] == false,
                        "{}: {reply}",
                        brief(&order)
                    );
                    check(&order, &reply);
                }
            }));
            over.store(true, Ordering::Relaxed);
            canary.join().unwrap();
            if let Err(panic) = ended {
                rpc.hang_up();
                std::panic::resume_unwind(panic);
            }
        });
        self.assert_clean();
    }

    /// Somebody who does nothing wrong, while others do.
    fn live_beside(&self, over: &AtomicBool) {
        let mut rpc = self.daemon.connect();
        while !over.load(Ordering::Relaxed) {
            rpc.call("system.ping", json!({})).unwrap();
            let order = json!({"code": "print(sum(range(10)))", "lane": "expert",
                "root": self.context.project});
            let reply = rpc.call("exec.run", order).unwrap();
            assert_eq!(reply["outcome"], "ok", "a harmless run: {reply}");
            assert_eq!(reply["stdout"], "45\n", "{reply}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// Nothing of any run is left: no process, no mount, no folder; and nobody was heard.
    pub(super) fn assert_clean(&self) {
        self.listeners.assert_quiet();
        let base = self.context.base.to_str().unwrap();
        wait_for(DEADLINE, "what runs left to be gone", || {
            let left: Vec<String> = belongings(base)
                .into_iter()
                .filter(|(_, command)| !is_expected(command))
                .map(|(pid, command)| format!("{pid}: {command}"))
                .collect();
            if left.is_empty() {
                Ok(())
            } else {
                Err(left.join("\n"))
            }
        });
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        assert!(
            !mounts.contains("/lane") && !mounts.contains(base),
            "{mounts}"
        );
        let names = |folder: PathBuf| -> Vec<String> {
            let entries = fs::read_dir(folder).unwrap().flatten();
            entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect()
        };
        let outside = names(self.context.base.join("outside"));
        assert_eq!(outside.len(), 2, "somebody wrote outside: {outside:?}");
        let secret = fs::read_to_string(self.context.base.join("outside/secret.txt")).unwrap();
        assert_eq!(secret, "secret");
        let known = |name: &String| name == "other" || name == "default" || name.starts_with('s');
        let left: Vec<String> = names(self.context.base.join("pillion/data/sessions"))
            .into_iter()
            .filter(|n| !known(n))
            .collect();
        assert!(left.is_empty(), "folders of runs are left: {left:?}");
    }

    /// End the daemon; nobody is left then.
    pub(super) fn end(self) {
        let base = self.context.base.to_str().unwrap().to_owned();
        drop(self.daemon);
        wait_for_nobody(&base);
    }
}

/// A connection whose runs nobody waits for.
pub(super) fn abandoned(world: &World, order: Value) -> Rpc {
    let mut rpc = world.daemon.connect();
    rpc.send("exec.run", order);
    rpc
}

/// Wait until no process is left that has to do with this folder.
pub(super) fn wait_for_nobody(base: &str) {
    wait_for(DEADLINE, "all processes to be gone", || {
        let left = belongings(base);
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    });
}

/// The same order with more time, if it had too little to begin: for its zygote to start, which
/// is an error, or for the program itself, which is an outcome.
fn more_time(order: &Value, reply: &Result<Value, Value>) -> Option<Value> {
    let had = order["timeout_seconds"].as_f64()?;
    let is_late = match reply {
        Ok(reply) => reply["outcome"] == "timeout" && reply["start"] == "none",
        Err(error) => error["data"]["code"] == "timeout",
    };
    (is_late && had < 60.0).then(|| {
        let mut more = order.clone();
        more["timeout_seconds"] = (4.0 * had).into();
        more
    })
}

/// For messages: an order without its text.
pub(super) fn brief(order: &Value) -> String {
    let args = order["args"].as_array().unwrap();
    let attack = args
        .iter()
        .filter_map(Value::as_str)
        .find(|arg| arg.starts_with("attack="));
    format!("{attack:?} lane {} fresh {}", order["lane"], order["fresh"])
}

/// The daemon, boxes and inits, zygotes and slots that wait may live while the daemon does.
fn is_expected(command: &str) -> bool {
    let started = ["pillion-of-test", "pillion-box", "pillion-guard"];
    let first = command.split(' ').next().unwrap_or_default();
    started.iter().any(|name| first.ends_with(name)) || command.contains("pillion/lane/zygote.py")
}

/// Every process that has to do with a folder, by its program, command, environment or place.
pub(super) fn belongings(base: &str) -> Vec<(u32, String)> {
    let holds = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.contains(base)
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .filter_map(|pid| {
            let of = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let link = |name: &str| {
                let link = fs::read_link(format!("/proc/{pid}/{name}")).unwrap_or_default();
                link.to_string_lossy().contains(base)
            };
            let command = of("cmdline");
            let ours = holds(&command) || holds(&of("environ")) || link("exe") || link("cwd");
            let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let is_dead = state.is_empty() || state.contains(") Z ");
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            (ours && !is_dead).then_some((pid, command))
        })
        .collect()
}
