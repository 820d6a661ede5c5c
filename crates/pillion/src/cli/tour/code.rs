//! The stop about code: a question, an edit, the same question.

use std::time::{Duration, Instant};

use pillion::{Error, Result};
use pillion_index::answers::{Answer, Locations, References};
use serde_json::json;

use super::guide::{Stop, millis};
use super::{WARM_CALLS, Walk, one_shot};

const SHOP: &str = "class Cart:\n    def total(self, items):\n        return sum(items)\n";
const TILL: &str = "from shop import Cart\n\n\ndef pay(cart: Cart, other):\n    \
    return cart.total([1]) + other.total([2])\n";

impl Walk {
    pub(super) async fn code(&self) -> Result<()> {
        let stop = Stop::new("Questions about code: `pillion defs till.py 5 17`");
        let write = |name: &str, text: &str| {
            std::fs::write(self.root.join(name), text).map_err(Error::internal)
        };
        write("shop.py", SHOP)?;
        write("till.py", TILL)?;
        let jedi = "import jedi; s = jedi.Script(path='till.py'); print(s.goto(5, 17))";
        let without = one_shot(&self.python, &self.root, jedi).await?;
        let (first, _) = self.definition().await?;
        let mut times = Vec::with_capacity(WARM_CALLS);
        for _ in 0..WARM_CALLS {
            times.push(self.definition().await?.0);
        }
        times.sort_unstable();
        stop.times(&[
            ("a fresh Python with Jedi", without),
            ("first question: ty started", first),
            ("every question after it (median)", times[WARM_CALLS / 2]),
        ]);
        let (_, before) = self.definition().await?;
        write("shop.py", &format!("import math\n\n\n{SHOP}"))?;
        let (took, after) = self.definition().await?;
        stop.say(&format!("before an edit of shop.py  {before}"));
        stop.say(&format!(
            "right after it             {after}   ({})",
            millis(took)
        ));
        let params = json!({
            "root": self.root, "file": "shop.py", "line": 5, "col": 9,
            "include_declaration": false,
        });
        let refs: Answer<References> = self.backend.ask("code.refs", params).await?;
        if let Answer::One(refs) = refs {
            stop.say(&format!(
                "uses of `total`: {} confirmed, {} possible (on something without a type)",
                refs.answer.confirmed, refs.answer.possible
            ));
        }
        Ok(())
    }

    /// Where `total` is defined, as `file:line:column`.
    async fn definition(&self) -> Result<(Duration, String)> {
        let params = json!({ "root": self.root, "file": "till.py", "line": 5, "col": 17 });
        let begun = Instant::now();
        let found: Answer<Locations> = self.backend.ask("code.defs", params).await?;
        let took = begun.elapsed();
        let Answer::One(found) = found else {
            return Err(Error::internal("an answer to another question"));
        };
        let place = found.answer.locations.first().map(|place| {
            let (file, line, column) = (&place.file, place.line, place.column);
            format!("{file}:{line}:{column}")
        });
        Ok((took, place.unwrap_or_else(|| "nowhere".into())))
    }
}
