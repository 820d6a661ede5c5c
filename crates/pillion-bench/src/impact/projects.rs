//! The projects whose functions are broken: as their archives have them, with what their
//! tests need.

/// A project with tests.
pub(super) struct Project {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    pub(super) sha256: &'static str,
    /// The folder of its own modules, and that of its tests.
    pub(super) source: &'static str,
    pub(super) tests: &'static str,
    /// Further words for pytest.
    pub(super) options: &'static [&'static str],
    pub(super) requirements: &'static [&'static str],
}

pub(super) const PROJECTS: &[Project] = &[
    Project {
        name: "werkzeug",
        package: "werkzeug==3.1.3",
        sha256: "60723ce945c19328679790e3282cc758aa4a6040e4bb330f53d30fa546d44746",
        source: "src/werkzeug",
        tests: "tests",
        options: &[],
        requirements: &[
            "pytest==8.4.2",
            "pytest-timeout==2.4.0",
            "markupsafe==3.0.2",
            "ephemeral-port-reserve==1.1.4",
            "cryptography==45.0.7",
            "watchdog==6.0.0",
        ],
    },
    Project {
        name: "httpx",
        package: "httpx==0.28.1",
        sha256: "75e98c5f16b0f35b567856f597f06ff2270a374470a5c2392242528e3e3e42fc",
        source: "httpx",
        tests: "tests",
        options: &[],
        requirements: &[
            "pytest==8.4.2",
            "pytest-timeout==2.4.0",
            "anyio==4.11.0",
            "brotli==1.1.0",
            "certifi==2025.8.3",
            "chardet==5.2.0",
            "click==8.3.0",
            "cryptography==45.0.7",
            "h11==0.16.0",
            "h2==4.3.0",
            "httpcore==1.0.9",
            "idna==3.10",
            "pygments==2.19.2",
            "rich==14.1.0",
            "socksio==1.0.0",
            "trio==0.31.0",
            "trustme==1.2.1",
            "uvicorn==0.35.0",
            "zstandard==0.25.0",
        ],
    },
    Project {
        name: "click",
        package: "click==8.3.0",
        sha256: "e7b8232224eba16f4ebe410c25ced9f7875cb5f3263ffc93cc3e8da705e229c4",
        source: "src/click",
        tests: "tests",
        // It races with the pager that it starts.
        options: &["--deselect", "tests/test_utils.py::test_echo_via_pager"],
        requirements: &["pytest==8.4.2", "pytest-timeout==2.4.0"],
    },
    Project {
        name: "flask",
        package: "flask==3.1.2",
        sha256: "bf656c15c80190ed628ad08cdfd3aaa35beb087855e2f494910aa3774cc4fd87",
        source: "src/flask",
        tests: "tests",
        options: &[],
        requirements: &[
            "pytest==8.4.2",
            "pytest-timeout==2.4.0",
            "asgiref==3.9.2",
            "blinker==1.9.0",
            "click==8.3.0",
            "itsdangerous==2.2.0",
            "jinja2==3.1.6",
            "markupsafe==3.0.2",
            "python-dotenv==1.1.1",
            "werkzeug==3.1.3",
        ],
    },
];
