//! Downloads with encryption: certificates that this machine trusts, and those it does not.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::world::World;

/// Serves a folder, with and without encryption.
const SERVER: &str = include_str!("https.py");
/// Who certifies that a server is `localhost`; it is good until 2120.
const AUTHORITY: &str = include_str!("tls/authority.pem");
/// Somebody else.
const STRANGER: &str = include_str!("tls/stranger.pem");
/// The server's certificate, and its key. Nobody but these tests trusts it.
const SERVERS_OWN: &str = include_str!("tls/localhost.pem");

/// A server of the world's folder. Dropping it ends it.
struct Server {
    child: Child,
    plain: String,
    encrypted: String,
}

impl Server {
    fn start(world: &World) -> Self {
        world.write("tls/localhost.pem", SERVERS_OWN);
        let mut python = world.context.command("python3");
        python.args(["-c", SERVER, "."]).arg("tls/localhost.pem");
        python.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let (plain, encrypted) = line.trim().split_once(' ').unwrap();
        Self {
            child,
            plain: format!("http://localhost:{plain}"),
            encrypted: format!("https://localhost:{encrypted}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// From now on this machine trusts these and nobody else.
fn trust(world: &mut World, authorities: &str) {
    world.write("tls/trusted.pem", authorities);
    let file = world.path("tls/trusted.pem");
    world.context.set_env("SSL_CERT_FILE", file);
}

/// Why nothing came from there.
fn refused(world: &World, url: &str) -> Value {
    let error = world.refused(&["bundle", "install", url, "--store", "store"]);
    assert_eq!(error["code"], "unreachable", "{error}");
    error
}

#[test]
fn a_server_is_taken_for_what_its_certificate_says() {
    let mut world = World::new();
    let archive = world.experts("1.0.0");
    let server = Server::start(&world);
    let url = format!("{}/{archive}", server.encrypted);
    world.context.set_env("SSL_CERT_DIR", world.path("none"));
    // A machine that knows nobody's certificate can do without encryption.
    trust(&mut world, "");
    refused(&world, &url);
    let plain = format!("{}/{archive}", server.plain);
    assert_eq!(world.install(&plain)["outcome"], "installed");
    trust(&mut world, STRANGER);
    let message = refused(&world, &url)["message"].to_string();
    assert!(message.contains("certificate"), "{message}");
    trust(&mut world, AUTHORITY);
    assert_eq!(world.install(&url)["outcome"], "kept");
    // Who begins without may be sent on to one with, and not the other way.
    let up = format!("{}/up/{archive}", server.plain);
    assert_eq!(world.install(&up)["outcome"], "kept");
    let down = format!("{}/down/{archive}", server.encrypted);
    let message = refused(&world, &down)["message"].to_string();
    assert!(message.contains("without encryption"), "{message}");
}
