//! Pictures on a terminal that can show them, or in files for those that cannot.
//!
//! A terminal says what it can do by its variables, or when it is asked; it has a moment for the
//! answer. What is written to it is made here from the bytes of a picture, so nothing of what a
//! cell wrote is a command.

use std::io::{IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::ValueEnum;
use pillion_process::private_folder;
use pillion_protocol::vars;
use pillion_runtime::Dirs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex};

use super::sixel;

/// How long a terminal may take to say what it can do.
const ANSWER: Duration = Duration::from_millis(300);
/// Bytes of a picture that is shown, at most, and its points.
const MOST_BYTES: usize = 16 << 20;
const MOST_POINTS: usize = 16 << 20;
/// Bytes of one piece of kitty's protocol.
const PIECE: usize = 4096;
/// Pictures that are kept in files.
const KEPT: usize = 100;
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Where pictures are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Show {
    /// As the terminal can.
    #[default]
    Auto,
    /// By kitty's graphics protocol.
    Kitty,
    /// As iTerm2 does it.
    Iterm2,
    /// By sixels.
    Sixel,
    /// In files, whose names are printed.
    File,
}

impl Show {
    /// The way that this terminal knows.
    pub(crate) fn found(self) -> Self {
        if self != Self::Auto {
            return self;
        }
        let var = |name: &str| std::env::var(name).unwrap_or_default();
        match by_name(var) {
            Some(known) => known,
            None => ask().map_or(Self::File, |answer| by_answer(&answer)),
        }
    }
}

/// What the variables of a terminal say.
fn by_name(var: impl Fn(&str) -> String) -> Option<Show> {
    let term = var(vars::TERM);
    if ["", "dumb", "linux"].contains(&term.as_str()) {
        return Some(Show::File);
    }
    // Between us and the terminal is a program that has its own idea of a screen: it answers.
    if term.starts_with("screen") || term.starts_with("tmux") || !var(vars::TMUX).is_empty() {
        return None;
    }
    if !var(vars::KITTY_WINDOW_ID).is_empty() || term == "xterm-kitty" || term == "xterm-ghostty" {
        return Some(Show::Kitty);
    }
    match var(vars::TERM_PROGRAM).as_str() {
        "iTerm.app" | "WezTerm" => Some(Show::Iterm2),
        "ghostty" => Some(Show::Kitty),
        _ if var(vars::LC_TERMINAL) == "iTerm2" => Some(Show::Iterm2),
        _ => None,
    }
}

/// What a terminal answers when it is asked: kitty's graphics, and its attributes.
fn by_answer(answer: &str) -> Show {
    if answer.contains("\u{1b}_Gi=31;OK") {
        return Show::Kitty;
    }
    let attributes = answer.rsplit("\u{1b}[?").next().unwrap_or_default();
    let attributes = attributes.split('c').next().unwrap_or_default();
    match attributes.split(';').any(|one| one == "4") {
        true => Show::Sixel,
        false => Show::File,
    }
}

/// Ask the terminal. It answers as if somebody typed, so nothing is echoed meanwhile.
fn ask() -> Option<String> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() || !std::io::stdout().is_terminal() {
        return None;
    }
    let before = termios::tcgetattr(stdin.as_fd()).ok()?;
    let mut quiet = before.clone();
    quiet.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
    quiet.special_codes[SpecialCodeIndex::VMIN] = 0;
    quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
    termios::tcsetattr(stdin.as_fd(), OptionalActions::Now, &quiet).ok()?;
    let answer = asked();
    let _ = termios::tcsetattr(stdin.as_fd(), OptionalActions::Now, &before);
    answer
}

fn asked() -> Option<String> {
    let question = "\u{1b}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1b}\\\u{1b}[c";
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(question.as_bytes()).ok()?;
    stdout.flush().ok()?;
    let stdin = std::io::stdin();
    // Not by the standard library's own buffer, in which later lines would be lost.
    let mut input = std::fs::File::from(stdin.as_fd().try_clone_to_owned().ok()?);
    let until = Instant::now() + ANSWER;
    let mut answer = Vec::new();
    let is_whole = |answer: &[u8]| {
        let at = answer.windows(3).rposition(|three| three == b"\x1b[?");
        at.is_some_and(|at| answer[at..].contains(&b'c'))
    };
    while !is_whole(&answer) && answer.len() < PIECE {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).ok()?;
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut polled, Some(&left)).ok()? == 0 {
            return None;
        }
        let mut bytes = [0; 256];
        match input.read(&mut bytes).ok()? {
            0 => return None,
            read => answer.extend_from_slice(bytes.get(..read)?),
        }
    }
    Some(String::from_utf8_lossy(&answer).into_owned())
}

/// What becomes of a picture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ShownPicture {
    /// This is written to the terminal.
    Drawn(String),
    /// It is in this file.
    Written(PathBuf),
    /// It cannot be shown, for this reason.
    Not(String),
}

/// Show a picture: `data` is base64, or the text of an SVG.
pub(crate) fn show(way: Show, mime: &str, data: &str) -> ShownPicture {
    let bytes = match mime {
        "image/svg+xml" => data.as_bytes().to_vec(),
        _ => {
            let packed: String = data.split_ascii_whitespace().collect();
            match BASE64_STANDARD.decode(packed) {
                Ok(bytes) => bytes,
                Err(_) => return ShownPicture::Not("it is no base64".to_owned()),
            }
        }
    };
    let is_png = mime == "image/png" && bytes.starts_with(PNG);
    let drawn = match way {
        _ if bytes.len() > MOST_BYTES => None,
        Show::Kitty if is_png => Some(kitty(&bytes)),
        Show::Iterm2 if is_png || ["image/jpeg", "image/gif"].contains(&mime) => {
            Some(iterm2(&bytes))
        }
        Show::Sixel if is_png => {
            sixel::read(&bytes, MOST_POINTS).map(|pixels| sixel::encode(&pixels))
        }
        _ => None,
    };
    if let Some(drawn) = drawn {
        return ShownPicture::Drawn(drawn);
    }
    match write(&Dirs::from_env(), mime, &bytes) {
        Ok(path) => ShownPicture::Written(path),
        Err(why) => ShownPicture::Not(why),
    }
}

fn kitty(png: &[u8]) -> String {
    let packed = BASE64_STANDARD.encode(png);
    let mut pieces = packed.as_bytes().chunks(PIECE).peekable();
    let mut out = String::new();
    let mut first = "a=T,f=100,q=2,";
    while let Some(piece) = pieces.next() {
        let more = u8::from(pieces.peek().is_some());
        let piece = String::from_utf8_lossy(piece);
        out.push_str(&format!("\u{1b}_G{first}m={more};{piece}\u{1b}\\"));
        first = "";
    }
    out
}

fn iterm2(bytes: &[u8]) -> String {
    let packed = BASE64_STANDARD.encode(bytes);
    let size = bytes.len();
    format!("\u{1b}]1337;File=inline=1;size={size};preserveAspectRatio=1:{packed}\u{7}")
}

/// The folder of pictures.
fn folder(dirs: &Dirs) -> PathBuf {
    dirs.usable_cache().join("pictures")
}

fn write(dirs: &Dirs, mime: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let ending = match mime {
        "image/png" => ".png",
        "image/jpeg" => ".jpg",
        "image/gif" => ".gif",
        "image/webp" => ".webp",
        "image/svg+xml" => ".svg",
        _ => return Err(format!("`{mime}` is no kind of picture that is known here")),
    };
    let text = |error: &dyn std::fmt::Display| error.to_string();
    dirs.writable_cache().map_err(|error| text(&error))?;
    let folder = folder(dirs);
    private_folder::ensure(&folder).map_err(|error| text(&error))?;
    make_room(&folder);
    let mut file = tempfile::Builder::new()
        .prefix("picture-")
        .suffix(ending)
        .tempfile_in(&folder)
        .map_err(|error| text(&error))?;
    file.write_all(bytes).map_err(|error| text(&error))?;
    let (_, path) = file.keep().map_err(|error| text(&error))?;
    Ok(path)
}

/// Let go of the oldest pictures, if there are too many.
fn make_room(folder: &Path) {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = files
        .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
        .collect();
    files.sort();
    let many = (files.len() + 1).saturating_sub(KEPT);
    for (_, path) in files.into_iter().take(many) {
        let _ = std::fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_known_by_its_variables() {
        let named = |pairs: &'static [(&str, &str)]| {
            by_name(|name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map_or_else(String::new, |(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(named(&[]), Some(Show::File));
        assert_eq!(named(&[("TERM", "dumb")]), Some(Show::File));
        assert_eq!(named(&[("TERM", "xterm-kitty")]), Some(Show::Kitty));
        let iterm = named(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")]);
        assert_eq!(iterm, Some(Show::Iterm2));
        assert_eq!(named(&[("TERM", "xterm-256color")]), None);
        let within = named(&[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")]);
        assert_eq!(within, None);
    }

    #[test]
    fn a_terminal_answers_what_it_can_do() {
        assert_eq!(by_answer("\x1b_Gi=31;OK\x1b\\\x1b[?62;c"), Show::Kitty);
        assert_eq!(by_answer("\x1b[?62;4;6c"), Show::Sixel);
        assert_eq!(by_answer("\x1b[?64;14c"), Show::File);
        assert_eq!(by_answer(""), Show::File);
    }

    #[test]
    fn what_is_drawn_is_base64_of_what_was_read() {
        let png = [PNG, &[7; 5000]].concat();
        let data = BASE64_STANDARD.encode(&png);
        let ShownPicture::Drawn(kitty) = show(Show::Kitty, "image/png", &data) else {
            panic!("not drawn");
        };
        assert!(kitty.starts_with("\x1b_Ga=T,f=100,q=2,m=1;iVBOR"));
        assert_eq!(kitty.matches("\x1b\\").count(), 2);
        let ShownPicture::Drawn(iterm) = show(Show::Iterm2, "image/png", &data) else {
            panic!("not drawn");
        };
        assert_eq!(iterm.matches('\x1b').count(), 1);
        let trick = show(Show::Kitty, "image/png", "\x1b]0;x\x07");
        assert_eq!(trick, ShownPicture::Not("it is no base64".to_owned()));
    }

    #[test]
    fn files_of_pictures_are_bounded() {
        let home = tempfile::tempdir().unwrap();
        let dirs = Dirs::under(home.path());
        for _ in 0..KEPT + 5 {
            write(&dirs, "image/png", PNG).unwrap();
        }
        let count = std::fs::read_dir(folder(&dirs)).unwrap().count();
        assert_eq!(count, KEPT);
        assert!(write(&dirs, "text/plain", b"x").is_err());
    }
}
