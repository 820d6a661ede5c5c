//! The files of a session: those that a learner works on, and those that were uploaded.

use serde_json::{Value, json};

use super::client::{detail, good, refused};
use super::world::{CHAPTER, TABLE, World};

fn names(list: &Value) -> Vec<(&str, &str)> {
    let mut all: Vec<(&str, &str)> = list["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            assert!(file["size_bytes"].is_u64(), "{file}");
            assert!(file["modified_at"].is_string(), "{file}");
            let text = |name: &str| file[name].as_str().unwrap();
            (text("name"), text("source"))
        })
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn files_of_the_workspace_are_written_read_and_deleted() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let files = format!("/api/session/{session}/workspace/files");
    let file = |name: &str| format!("{files}/{name}");
    let listed = good(&client.get(&files));
    assert_eq!(names(&listed), [("starter.py", "bundle")]);
    let workspace = good(&client.get(&format!("/api/session/{session}/workspace")));
    assert_eq!(names(&workspace), [("starter.py", "bundle")], "{workspace}");
    let read = good(&client.get(&file("starter.py")));
    assert_eq!(
        read,
        json!({ "name": "starter.py", "content": "prices = [2, 3, 5]\n",
        "size_bytes": 19 })
    );
    let text = "# 列表\nprint('\u{0}\r\n')\n";
    for name in ["mine.py", "notes.md", "a-b_c.1.txt", "book.ipynb"] {
        good(&client.put(&file(name), json!({ "content": text })));
        let read = good(&client.get(&file(name)));
        assert_eq!(
            (&read["content"], &read["size_bytes"]),
            (&json!(text), &json!(text.len()))
        );
    }
    good(&client.put(&file("mine.py"), json!({ "content": "" })));
    assert_eq!(good(&client.get(&file("mine.py")))["size_bytes"], 0);
    let all = good(&client.get(&files));
    assert!(names(&all).contains(&("mine.py", "user")), "{all}");
    assert_eq!(names(&all).len(), 5);
    let gone = client.delete(&file("mine.py"));
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    detail(&client.get(&file("mine.py")), 404);
    detail(&client.delete(&file("mine.py")), 404);
    // They are what code sees.
    let run = client.run(
        &session,
        json!({ "code": "print(open('notes.md').read()[:4])" }),
    );
    assert_eq!(run["stdout"], "# 列表\n", "{run}");
}

#[test]
fn bad_names_and_contents_are_refused() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let file = |name: &str| format!("/api/session/{session}/workspace/files/{name}");
    for name in [
        "..%2fout.py",
        "%2e%2e%2fout.py",
        "a%2fb.py",
        "a%5cb.py",
        "%2fetc%2fpasswd",
        ".hidden.py",
        "a.sh",
        "a",
        "a.py%00",
        "a%0a.py",
        ".py",
        "con%20.exe",
    ] {
        detail(&client.put(&file(name), json!({ "content": "x" })), 400);
        detail(&client.get(&file(name)), 400);
        detail(&client.delete(&file(name)), 400);
    }
    let long = format!("{}.py", "a".repeat(300));
    detail(&client.put(&file(&long), json!({ "content": "x" })), 400);
    for body in [
        json!({}),
        json!({ "content": 3 }),
        json!({ "content": null }),
    ] {
        let reply = client.put(&file("a.py"), body);
        assert_eq!(refused(&reply), [json!(["body", "content"])]);
    }
    let most = "x".repeat(1 << 20);
    good(&client.put(&file("most.txt"), json!({ "content": most })));
    let more = client.put(&file("more.txt"), json!({ "content": format!("{most}x") }));
    assert!([400, 413, 422].contains(&more.status), "{}", more.status);
    assert!(
        !world
            .folder(&session)
            .join("user_workspace/more.txt")
            .exists()
    );
    // A link that code has made leads nowhere.
    let secret = world.context.write("secret.txt", "SECRET-OF-THE-HOST");
    let link = world.folder(&session).join("user_workspace/link.txt");
    std::os::unix::fs::symlink(&secret, link).unwrap();
    let read = client.get(&file("link.txt"));
    assert!(!read.body.contains("SECRET-OF-THE-HOST"), "{read:?}");
    client.put(&file("link.txt"), json!({ "content": "changed" }));
    assert_eq!(
        std::fs::read_to_string(secret).unwrap(),
        "SECRET-OF-THE-HOST"
    );
}

#[test]
fn tables_are_uploaded_listed_and_deleted() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let files = format!("/api/session/{session}/files");
    let sent = client.upload(&session, &[("mine.csv", TABLE), ("more.json", "[1]")]);
    assert!([200, 201].contains(&sent.status), "{sent:?}");
    let listed = good(&client.get(&files));
    for name in ["mine.csv", "more.json"] {
        assert!(listed.to_string().contains(name), "{listed}");
    }
    let folder = world.folder(&session).join("working_files");
    assert_eq!(
        std::fs::read_to_string(folder.join("mine.csv")).unwrap(),
        TABLE
    );
    let gone = client.delete(&format!("{files}/mine.csv"));
    assert!([200, 204].contains(&gone.status), "{gone:?}");
    detail(&client.delete(&format!("{files}/mine.csv")), 404);
    assert!(!good(&client.get(&files)).to_string().contains("mine.csv"));
}

#[test]
fn uploads_that_may_not_be_are_refused_whole() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let files = format!("/api/session/{session}/files");
    let before = good(&client.get(&files));
    let refuses = |files: &[(&str, &str)]| {
        let reply = client.upload(&session, files);
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        assert!(
            [400, 413, 422].contains(&reply.status),
            "{names:?}: {}",
            reply.status
        );
    };
    for name in [
        "a.exe",
        "a",
        ".csv",
        "../a.csv",
        "a/b.csv",
        "..\\a.csv",
        "a.csv.py",
        "a\u{1}.csv",
    ] {
        refuses(&[("good.csv", "1"), (name, "1")]);
    }
    let names: Vec<String> = (0..11).map(|n| format!("{n}.csv")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    refuses(&many);
    let large = "x".repeat(3 << 20);
    refuses(&[("a.csv", &large), ("b.csv", &large)]);
    refuses(&[("a.csv", &"x".repeat(5_000_001))]);
    refuses(&[]);
    assert_eq!(
        good(&client.get(&files)),
        before,
        "nothing of them was kept"
    );
    let ten = client.upload(&session, &many[..10]);
    assert!([200, 201].contains(&ten.status), "{ten:?}");
    let most = client.upload(&session, &[("most.csv", &"x".repeat(5_000_000))]);
    assert_eq!(most.status, 200, "{}", most.body);
    detail(
        &client.delete(&format!("{files}/..%2f..%2fsession_state.json")),
        400,
    );
    assert!(world.folder(&session).join("session_state.json").exists());
}

#[test]
fn an_upload_is_not_written_through_a_link_of_the_learners_code() {
    let world = World::new();
    let client = world.serve();
    let session = client.create(CHAPTER);
    let outside = world.folder(&session).join("..").join("outside");
    std::fs::create_dir(&outside).unwrap();
    let data = world.folder(&session).join("user_workspace/data");
    let _ = std::fs::remove_dir_all(&data);
    std::os::unix::fs::symlink(&outside, &data).unwrap();
    let reply = client.upload(&session, &[("settings.json", "{}")]);
    assert_eq!(reply.status, 200, "{reply:?}");
    let listed = good(&client.get(&format!("/api/session/{session}/files")));
    assert!(names(&listed).contains(&("settings.json", "user")));
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}
