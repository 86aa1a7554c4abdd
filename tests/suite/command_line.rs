//! What a wrong command line gets: one line, the right exit code, and nothing left behind.

use std::fs::File;

use crate::bad_input::assert_names;
use crate::processes::{KEYS, Running, fulmar};

#[test]
fn wrong_flags_and_values_exit_with_one_clear_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing").display().to_string();
    let database = dir.path().join("catalog.db").display().to_string();
    let catalog = |listen| ["catalog", "--listen", listen, "--database", &database];
    let cases: [(&[&str], i32, &str); 8] = [
        (&["local", "--data", &missing], 1, &missing),
        (&["local"], 2, "--data"),
        (&["planner", "--endpoints", "sideways"], 2, "sideways"),
        (&catalog(&taken), 1, &taken),
        (&catalog("0.0.0.0:0"), 1, "--insecure"),
        (&["flight-server", "--ticket-keys", "k:00"], 2, "ticket key"),
        (
            &["flight-server", "--ticket-keys", KEYS, "--advertise", "h:1"],
            2,
            "grpc+tcp://",
        ),
        (&["sql", "--file", &missing], 2, &missing),
    ];
    for (args, code, part) in cases {
        let output = fulmar().args(args).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert_names(error.trim_end(), &[part]);
    }
    assert!(!dir.path().join("catalog.db").exists());
}

#[test]
fn a_service_that_cannot_start_tells_nobody_that_it_listens() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name| dir.path().join(name);
    std::fs::write(path("file"), "").unwrap();
    let catalog = fulmar()
        .args(["catalog", "--listen", "127.0.0.1:0", "--database"])
        .arg(path("file/catalog.db"))
        .arg("--address-file")
        .arg(path("address"))
        .stdout(File::create(path("printed")).unwrap())
        .stderr(File::create(path("log")).unwrap())
        .spawn();
    let status = Running(catalog.unwrap()).ended();
    let log = std::fs::read_to_string(path("log")).unwrap();
    assert_eq!(status.code(), Some(1), "{log}");
    assert_names(log.trim_end(), &["catalog.db"]);
    assert_eq!(std::fs::read_to_string(path("printed")).unwrap(), "");
    assert!(!path("address").exists());
}

#[test]
fn the_variable_of_a_switch_is_on_or_off_in_any_usual_spelling() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    // A catalog that may listen there cannot start either, for another reason.
    for (value, refused_by) in [
        ("1", "catalog.db"),
        ("true", "catalog.db"),
        ("0", "--insecure"),
        ("", "--insecure"),
    ] {
        let output = fulmar()
            .args(["catalog", "--listen", "0.0.0.0:0", "--database"])
            .arg(file.join("catalog.db"))
            .env("FULMAR_INSECURE", value)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{value:?}: {error}");
        assert_names(error.trim_end(), &[refused_by]);
    }
}
