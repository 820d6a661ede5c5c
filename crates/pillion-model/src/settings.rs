//! Which model answers, and within which limits: from the environment, or made by hand.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use pillion_process::Secret;
use reqwest::Url;

use crate::error::{Error, ModelErrorKind};

/// The variables that [`ModelSettings::from_vars`] reads, each with what it is for.
pub const VARIABLES: &[(&str, &str)] = &[
    (
        "LLM_PROVIDER",
        "who answers: `custom`, `openai`, `anthropic` or `scripted`",
    ),
    (
        "LLM_API_KEY",
        "the key of the account; a server on this machine needs none",
    ),
    ("LLM_MODEL", "the name of the model"),
    (
        "LLM_BASE_URL",
        "the address of the server, such as `http://127.0.0.1:11434/v1`",
    ),
    (
        "PILLION_MODEL_SCRIPT",
        "the file with the rules of the scripted model",
    ),
    (
        "PILLION_MODEL_RECORD",
        "a file to which every exchange is added, without keys",
    ),
    (
        "PILLION_MODEL_REPLAY",
        "a recorded file that answers instead of a model",
    ),
];

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// A server that speaks OpenAI's chat completions: `{base}/chat/completions`.
    Custom,
    /// OpenAI: `{base}/v1/chat/completions`.
    OpenAi,
    /// Anthropic: `{base}/v1/messages`.
    Anthropic,
    /// A script: offline, and always the same.
    Scripted,
}

impl Provider {
    /// The word of `LLM_PROVIDER`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Custom => "custom",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Scripted => "scripted",
        }
    }

    fn named(name: &str) -> Result<Self, Error> {
        let all = [Self::Custom, Self::OpenAi, Self::Anthropic, Self::Scripted];
        let lower = name.to_ascii_lowercase();
        let found = all.into_iter().find(|provider| provider.name() == lower);
        found.ok_or_else(|| {
            Error::new(
                ModelErrorKind::Settings,
                "LLM_PROVIDER names no provider that is known",
            )
            .hint("use `custom`, `openai`, `anthropic` or `scripted`")
        })
    }

    /// The model that is asked for if none is named. Local servers that have one model loaded
    /// take any name.
    fn usual_model(self) -> &'static str {
        match self {
            Self::Custom => "default",
            Self::OpenAi => "gpt-5-mini",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::Scripted => "offline",
        }
    }

    fn usual_base(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("https://api.openai.com"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Custom | Self::Scripted => None,
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Custom => "/chat/completions",
            Self::OpenAi => "/v1/chat/completions",
            Self::Anthropic | Self::Scripted => "/v1/messages",
        }
    }
}

/// How long and how much an answer may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLimits {
    /// Until a connection is made.
    pub connect: Duration,
    /// From the request to the first byte of the answer. Local servers load a model in it.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub silence: Duration,
    /// All of [`Model::ask`](crate::Model::ask), repetitions included.
    pub whole: Duration,
    /// How often a failed attempt is repeated.
    pub retries: u32,
    /// The wait before the first repetition; later ones take longer.
    pub backoff: Duration,
    /// The longest answer, text and tool calls together.
    pub max_answer_bytes: usize,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            silence: Duration::from_secs(60),
            whole: Duration::from_secs(600),
            retries: 4,
            backoff: Duration::from_millis(500),
            max_answer_bytes: 2 * 1024 * 1024,
        }
    }
}

/// Which model answers.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Who answers.
    pub provider: Provider,
    /// The model's name there.
    pub model: String,
    /// The server, if it is not the provider's own.
    pub base_url: Option<String>,
    /// The key.
    pub key: Option<Secret>,
    /// How long and how much an answer may take.
    pub limits: ModelLimits,
    /// The rules of the scripted model, if not the embedded ones.
    pub script: Option<PathBuf>,
    /// A file to which every exchange is added.
    pub record: Option<PathBuf>,
    /// A recorded file that answers instead.
    pub replay: Option<PathBuf>,
}

impl Default for ModelSettings {
    /// The scripted model with its embedded script.
    fn default() -> Self {
        Self {
            provider: Provider::Scripted,
            model: Provider::Scripted.usual_model().to_owned(),
            base_url: None,
            key: None,
            limits: ModelLimits::default(),
            script: None,
            record: None,
            replay: None,
        }
    }
}

impl ModelSettings {
    /// What the environment says, see [`VARIABLES`]. An empty value counts as unset. Where there
    /// is neither a key nor a server, the scripted model answers, whoever is named.
    pub fn from_vars(get: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let var = |name: &str| {
            let value = get(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let key = var("LLM_API_KEY");
        let base_url = var("LLM_BASE_URL");
        let named = match var("LLM_PROVIDER") {
            Some(name) => Some(Provider::named(&name)?),
            None => None,
        };
        let provider = match (named, &key, &base_url) {
            (Some(Provider::Scripted), ..) | (_, None, None) => Provider::Scripted,
            (Some(named), ..) => named,
            (None, _, Some(_)) => Provider::Custom,
            (None, Some(key), None) if key.starts_with("sk-ant-") => Provider::Anthropic,
            (None, Some(_), None) => Provider::OpenAi,
        };
        let model = var("LLM_MODEL").filter(|_| provider != Provider::Scripted);
        let settings = Self {
            provider,
            model: model.unwrap_or_else(|| provider.usual_model().to_owned()),
            base_url,
            key: key.map(Secret::new),
            limits: ModelLimits::default(),
            script: var("PILLION_MODEL_SCRIPT").map(PathBuf::from),
            record: var("PILLION_MODEL_RECORD").map(PathBuf::from),
            replay: var("PILLION_MODEL_REPLAY").map(PathBuf::from),
        };
        if settings.replay.is_none() && provider != Provider::Scripted {
            settings.url()?;
        }
        Ok(settings)
    }

    /// Where questions are sent. Checks the address and the key.
    pub(crate) fn url(&self) -> Result<Url, Error> {
        let wrong =
            |what: &str| Error::new(ModelErrorKind::Settings, format!("LLM_BASE_URL {what}"));
        let example = "use an address such as `http://127.0.0.1:11434/v1`";
        let base = self.base_url.as_deref().or(self.provider.usual_base());
        let base = base.ok_or_else(|| {
            Error::new(
                ModelErrorKind::Settings,
                "provider `custom` needs LLM_BASE_URL",
            )
            .hint(example)
        })?;
        let mut url = Url::parse(base).map_err(|_| wrong("is not an address").hint(example))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("is not an address of HTTP").hint(example));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("has a user or a password in it").hint("use LLM_API_KEY"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("has a `?` or a `#` in it").hint(example));
        }
        let mut path = url.path().trim_end_matches('/').to_owned();
        if self.provider != Provider::Custom {
            // Many write the version that these providers' paths have anyway.
            path.truncate(path.strip_suffix("/v1").unwrap_or(&path).len());
        }
        url.set_path(&(path + self.provider.path()));
        match &self.key {
            None if !is_loopback(&url) || self.provider == Provider::Anthropic => Err(Error::new(
                ModelErrorKind::Settings,
                "LLM_API_KEY is not set",
            )
            .hint("set it; a server that needs none takes any text")),
            Some(key) if !key.expose().bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(Error::new(
                    ModelErrorKind::Settings,
                    "LLM_API_KEY has characters that no key has",
                )
                .hint("copy the key again, without blanks and quotes"))
            }
            _ => Ok(url),
        }
    }
}

/// Whether the address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = host.trim_end_matches('.');
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vars: &[(&str, &str)]) -> Result<ModelSettings, Error> {
        ModelSettings::from_vars(|name| {
            let found = vars.iter().find(|(var, _)| *var == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn url(vars: &[(&str, &str)]) -> String {
        of(vars).unwrap().url().unwrap().to_string()
    }

    #[test]
    fn without_key_and_server_the_script_answers() {
        for vars in [
            &[][..],
            &[
                ("LLM_PROVIDER", "openai"),
                ("LLM_API_KEY", " "),
                ("LLM_BASE_URL", ""),
            ],
            &[("LLM_PROVIDER", "scripted"), ("LLM_API_KEY", "k")],
        ] {
            let settings = of(vars).unwrap();
            assert_eq!(settings.provider, Provider::Scripted);
        }
    }

    #[test]
    fn each_provider_has_its_path() {
        let key = ("LLM_API_KEY", "k");
        assert_eq!(
            url(&[key, ("LLM_PROVIDER", "OpenAI")]),
            "https://api.openai.com/v1/chat/completions"
        );
        assert_eq!(
            url(&[
                key,
                ("LLM_PROVIDER", "openai"),
                ("LLM_BASE_URL", "https://x.org/a/v1/")
            ]),
            "https://x.org/a/v1/chat/completions"
        );
        assert_eq!(
            url(&[key, ("LLM_PROVIDER", "anthropic")]),
            "https://api.anthropic.com/v1/messages"
        );
        assert_eq!(
            url(&[
                ("LLM_PROVIDER", "custom"),
                ("LLM_BASE_URL", "http://localhost:11434/v1")
            ]),
            "http://localhost:11434/v1/chat/completions"
        );
        assert_eq!(
            url(&[("LLM_API_KEY", "sk-ant-1")]),
            "https://api.anthropic.com/v1/messages"
        );
        assert_eq!(
            url(&[("LLM_BASE_URL", "http://[::1]:1/v1")]),
            "http://[::1]:1/v1/chat/completions"
        );
    }

    #[test]
    fn what_cannot_work_is_told_without_the_key() {
        for vars in [
            &[
                ("LLM_PROVIDER", "sk-secret-1"),
                ("LLM_API_KEY", "sk-secret-1"),
            ][..],
            &[("LLM_PROVIDER", "custom"), ("LLM_API_KEY", "sk-secret-1")],
            &[
                ("LLM_PROVIDER", "openai"),
                ("LLM_API_KEY", "sk-secret-1\n2"),
            ],
            &[("LLM_BASE_URL", "http://u:sk-secret-1@localhost/v1")],
            &[("LLM_BASE_URL", "file:///etc/passwd")],
            &[("LLM_BASE_URL", "sk-secret-1")],
            &[("LLM_BASE_URL", "http://localhost/?key=sk-secret-1")],
            &[("LLM_BASE_URL", "http://10.0.0.8:8000/v1")],
            &[("LLM_BASE_URL", "http://localhost.example.com/v1")],
        ] {
            let error = of(vars).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Settings, "{vars:?}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}
