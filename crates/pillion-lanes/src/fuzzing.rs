//! What must hold for any bytes that code of others writes. Each function panics where it does
//! not; the fuzz targets and the tests of their seeds call them.

use crate::output::Printed;
use crate::tools;

/// The longest text that is made of a stream: head and tail with each byte replaced, and a line
/// between them.
const LONGEST: usize = 2 * 3 * (256 << 10) + 100;

/// What a program prints is passed on in pieces that tear no character, and kept whole or as head
/// and tail. The first byte says how many bytes come at once.
pub fn output(data: &[u8]) {
    let Some((at_once, data)) = data.split_first() else {
        return;
    };
    let mut printed = Printed::default();
    let mut pieces = String::new();
    for bytes in data.chunks(usize::from(*at_once).max(1)) {
        pieces.extend(printed.piece(bytes));
    }
    pieces.extend(printed.piece(&[]));
    assert_eq!(printed.piece(&[]), None, "the end comes once");
    if let Ok(text) = std::str::from_utf8(data) {
        assert_eq!(pieces, text, "text is passed on as it is");
    }
    let (whole, is_cut) = printed.finish();
    assert!(whole.len() <= LONGEST);
    assert!(is_cut || whole == String::from_utf8_lossy(data));
}

/// Whatever a program asks of its tools, it is answered by one message.
pub fn question(data: &[u8]) {
    let answering = tools::answer_without_tools(data);
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().build() else {
        return;
    };
    let Ok(answer) = runtime.block_on(answering) else {
        panic!("no answer");
    };
    let (head, body) = answer.split_at(4);
    let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    assert_eq!(length as usize, body.len());
    let said: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    assert!(said["id"].is_u64() && said["error"].is_object(), "{said}");
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_bytes_are_output(data: Vec<u8>) {
            output(&data);
        }

        #[test]
        fn any_text_is_output(text: String, at_once: u8) {
            output(&[&[at_once], text.as_bytes()].concat());
        }

        #[test]
        fn any_bytes_are_a_question(data: Vec<u8>) {
            question(&data);
        }

        #[test]
        fn any_words_are_a_question(
            tool in "read|query|call|[a-z]{0,4}",
            name: String,
            id: u64,
            sql: String,
        ) {
            let asked = serde_json::json!({
                "id": id, "tool": tool, "name": name, "table": name, "sql": sql,
                "parameters": [1, null, name], "arguments": [name],
            });
            question(asked.to_string().as_bytes());
        }
    }
}
