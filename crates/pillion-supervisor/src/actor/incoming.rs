//! What the process says and does.

use std::sync::atomic::Ordering;

use pillion_catalogue::Part;
use pillion_process::Exit;
use pillion_protocol::line::{FromSidecar, Ready};
use pillion_protocol::{Code, Error, Result};
use serde_json::value::RawValue;

use super::Actor;
use crate::child::{Broke, Did};
use crate::failure::{crashed, too_large};
use crate::life::Happening;
use crate::{CallAnswer, Cause, Dialect, Ended, Event};

impl Actor {
    pub(super) fn on_child(&mut self, did: Did) {
        match did {
            Did::Wrote(frame) if self.spec.dialect == Dialect::Lsp => self.on_frame(&frame),
            Did::Wrote(line) => self.on_line(&line),
            Did::Signalled => self.shared.ping_answered(),
            Did::Broke(broke) => self.on_broken(broke),
            Did::Ended(exit) => self.on_end(exit),
        }
    }

    fn on_line(&mut self, line: &[u8]) {
        let Some(child) = &mut self.child else { return };
        if child.hello.is_none() {
            return self.on_hello(line);
        }
        let Ok(message) = serde_json::from_slice::<FromSidecar>(line) else {
            return self.on_strange_line(line);
        };
        let Some(id) = message.id else {
            if let Some(error) = message.error {
                self.on_nobodys_error(error.into());
            }
            return;
        };
        let part = match (message.item, message.progress) {
            (Some(item), _) => Some(Part::Item(item.to_owned())),
            (None, Some(progress)) => Some(Part::Progress(progress.to_owned())),
            (None, None) => None,
        };
        if let Some(part) = part {
            return self.on_part(id, part);
        }
        // Before the answer: its caller may change a file at once.
        if let Some(files) = message.files {
            self.shared.add_files(files);
            self.unproven = true;
        }
        let outcome = match (message.result, message.error) {
            (_, Some(error)) => Err(error.into()),
            (Some(result), None) => Ok(result.to_owned()),
            (None, None) => Err(Error::internal(
                "a sidecar answered without result and error",
            )),
        };
        self.conclude(id, outcome);
    }

    /// A line that is no answer: a stray print of a foreign sidecar, whose answer may still
    /// come; or its answer, with something in it that cannot be read.
    fn on_strange_line(&mut self, line: &[u8]) {
        #[derive(serde::Deserialize)]
        struct WithId {
            id: u64,
        }
        tracing::warn!(sidecar = self.spec.name, "wrote a line that is no answer");
        if let Ok(WithId { id }) = serde_json::from_slice(line) {
            let what = "the answer cannot be understood: its `result` or `error` is no such thing";
            self.conclude(id, Err(Error::new(Code::InvalidResult, what)));
        }
    }

    /// An error without an id: a line could not be read. If there is one call only, that was
    /// its line.
    fn on_nobodys_error(&mut self, mut error: Error) {
        let Some(child) = &self.child else { return };
        let unread = [Code::InvalidJson, Code::InvalidRequest, Code::InvalidParams];
        let mut calls = child.in_flight.keys();
        let (Some(id), None, true) = (calls.next(), calls.next(), unread.contains(&error.code))
        else {
            return;
        };
        let id = *id;
        error.code = Code::InvalidParams;
        error.kind = error.code.kind();
        error.message = format!("the sidecar cannot read the arguments: {}", error.message);
        self.conclude(id, Err(error));
    }

    /// A call is over: its caller gets what came of it.
    pub(super) fn conclude(&mut self, id: u64, outcome: Result<Box<RawValue>>) {
        let Some(child) = &mut self.child else { return };
        let Some(mut done) = child.in_flight.remove(&id) else {
            return;
        };
        let (generation, pid) = (child.generation, child.pid());
        let took = done.began.elapsed();
        self.shared.answered(took);
        if let Some(pending) = done.pending.take() {
            pending.answer(outcome.map(|result| CallAnswer {
                result,
                generation,
                pid,
                took,
            }));
        }
        self.step(Happening::CallEnded);
        self.pump();
    }

    fn on_hello(&mut self, line: &[u8]) {
        let Some(child) = &mut self.child else { return };
        match serde_json::from_slice::<Ready>(line) {
            Ok(mut ready) if ready.status == "ready" => {
                self.shared.add_files(std::mem::take(&mut ready.files));
                self.unproven = true;
                let python = ready.python.clone();
                child.greet(ready);
                self.shared.born(child.pid(), python);
                self.step(Happening::Hello);
                self.pump();
            }
            _ => {
                let text: String = String::from_utf8_lossy(line).chars().take(200).collect();
                self.on_broken(format!("wrote `{text}` where its ready line should be").into());
            }
        }
    }

    fn on_part(&mut self, id: u64, part: Part) {
        let Some(child) = &mut self.child else { return };
        if let Part::Progress(progress) = &part
            && self.around.events.has_listeners()
            && let Ok(progress) = serde_json::from_str(progress.get())
        {
            let sidecar = self.spec.name.clone();
            self.around
                .events
                .announce(Event::Progress { sidecar, progress });
        }
        let Some(in_flight) = child.in_flight.get(&id) else {
            return;
        };
        let ticket = in_flight.ticket;
        let Some(parts) = in_flight.pending.as_ref().and_then(|p| p.parts.clone()) else {
            return;
        };
        if !child.deliver(&parts, part) {
            self.cancel(ticket);
        }
    }

    /// Its output cannot be understood any more: it has to go.
    pub(super) fn on_broken(&mut self, broke: Broke) {
        tracing::warn!(sidecar = self.spec.name, broke.reason, "broken");
        let Some(child) = &mut self.child else { return };
        if broke.too_large {
            for in_flight in child.in_flight.values_mut() {
                if let Some(pending) = in_flight.pending.take() {
                    pending.fail(too_large(&self.spec));
                }
            }
        }
        self.cause.get_or_insert(Cause::Broken);
        child.broke.get_or_insert(broke.reason);
        child.kill();
    }

    fn on_end(&mut self, exit: Exit) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let expected = self.life.expects_death();
        let cause = match (self.cause.take(), child.limit()) {
            (Some(cause), _) => cause,
            (None, Some("memory")) => Cause::Memory,
            (None, _) => Cause::Crash,
        };
        self.close_by = None;
        self.watch_at = None;
        self.shared.died();
        if !expected {
            self.shared.crashes.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(sidecar = self.spec.name, generation = child.generation, ?cause, %exit, "ended");
        }
        self.around.events.announce(Event::SidecarEnded {
            sidecar: self.spec.name.clone(),
            workspace: self.spec.workspace.display().to_string(),
            generation: child.generation,
            cause,
            exit: exit.to_string(),
        });
        child.over.send_replace(Some(Ended {
            cause,
            exit: exit.to_string(),
            limit: child.limit().map(ToOwned::to_owned),
        }));
        let error = crashed(&self.spec, &child, exit, cause);
        let mut interrupted: Vec<_> = child.in_flight.drain().collect();
        // Repeated calls keep their order at the front of the queue.
        interrupted.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        for (_, in_flight) in interrupted {
            match in_flight.pending {
                Some(mut pending)
                    if pending.safe && !pending.repeated && cause != Cause::Memory =>
                {
                    pending.repeated = true;
                    self.queue.push_front(pending);
                }
                Some(pending) => pending.fail(error.clone()),
                None => {}
            }
        }
        if child.hello.is_some() || expected {
            self.step(Happening::Died);
        } else {
            self.on_failed_start(exit, cause, &error);
        }
        self.pump();
    }

    /// It ended before it said hello. A kill from outside gets another chance; a process
    /// that ends by itself would only do so again.
    fn on_failed_start(&mut self, exit: Exit, cause: Cause, error: &Error) {
        let stderr = error.data.as_ref().map(|data| data["stderr"].clone());
        tracing::warn!(
            sidecar = self.spec.name,
            %error,
            stderr = stderr.as_ref().and_then(|text| text.as_str()).unwrap_or_default(),
            "did not start"
        );
        for mut pending in std::mem::take(&mut self.queue) {
            if exit.signal.is_some() && !pending.repeated && cause == Cause::Crash {
                pending.repeated = true;
                self.queue.push_back(pending);
            } else {
                pending.fail(error.clone());
            }
        }
        let again = !self.queue.is_empty();
        self.step(if again {
            Happening::Died
        } else {
            Happening::StartFailed
        });
    }
}
