//! Programs to extract from and to inline in.

/// Lines from `#[` to `#]` become a function.
pub(crate) const METHODS: &[(&str, &str)] = &[
    (
        "arguments and results",
        "def f(a, b):\n    c = a + b  #[\n    d = c * 2  #]\n    return c, d\n\n\nprint(f(1, 2))\n",
    ),
    (
        "a nested condition",
        "def f(a):\n    x = 0\n    if a:  #[\n        if a > 1:\n            y = 2\n            print(y)\n        x = 1  #]\n    return x\n\n\nprint(f(0), f(1), f(2))\n",
    ),
    (
        "a try that fails",
        "def f(a):\n    x = 0\n    try:  #[\n        x = int(a)\n    except ValueError:\n        pass  #]\n    return x\n\n\nprint(f('a'), f('2'))\n",
    ),
    (
        "a value for the next round",
        "def f(xs):\n    prev = None\n    out = []\n    for x in xs:\n        if prev is not None:\n            out.append(prev)\n        prev = x  #[\n        print(prev)  #]\n    return out\n\n\nprint(f([1, 2, 3]))\n",
    ),
    (
        "a sum in a loop",
        "def f(xs):\n    total = 0\n    for x in xs:\n        y = x * 2  #[\n        total += y  #]\n    return total\n\n\nprint(f([1, 2, 3]))\n",
    ),
    (
        "an import inside",
        "def f(a):\n    import json\n    b = json.dumps(a)  #[\n    print(b)  #]\n\n\nf([1])\n",
    ),
    (
        "an import in the range",
        "def f(a):\n    import json  #[\n    b = json.dumps(a)  #]\n    return json.loads(b)\n\n\nprint(f([1]))\n",
    ),
    (
        "a handler's name",
        "def f():\n    try:\n        1 / 0\n    except ZeroDivisionError as error:\n        text = str(error)  #[\n        print(text)  #]\n\n\nf()\n",
    ),
    (
        "a method",
        "class A:\n    x = 1\n\n    def f(self, a):\n        b = self.x + a  #[\n        self.x = b  #]\n        return b\n\n\no = A()\nprint(o.f(1), o.x)\n",
    ),
    (
        "a method with another self",
        "class A:\n    def f(this, a):\n        this.x = a  #[\n        print(this.x)  #]\n\n\nA().f(1)\n",
    ),
    (
        "a static method",
        "class A:\n    @staticmethod\n    def f(a):\n        b = a + 1  #[\n        print(b)  #]\n        return b\n\n\nprint(A.f(1))\n",
    ),
    (
        "a static method of a class inside",
        "class A:\n    class B:\n        @staticmethod\n        def f(a):\n            b = a + 1  #[\n            print(b)  #]\n            return b\n\n\nprint(A.B.f(1))\n",
    ),
    (
        "a class method of a subclass",
        "class A:\n    name = 'a'\n\n    @classmethod\n    def f(klass, x):\n        text = klass.name + x  #[\n        print(text)  #]\n        return text\n\n\nclass B(A):\n    name = 'b'\n\n\nprint(B.f('x'))\n",
    ),
    (
        "super",
        "class A:\n    def f(self):\n        return 1\n\n\nclass B(A):\n    def f(self):\n        x = super().f()  #[\n        x += 1  #]\n        return x\n\n\nprint(B().f())\n",
    ),
    (
        "async",
        "import asyncio\n\n\nasync def f(a):\n    b = await asyncio.sleep(0, a)  #[\n    c = b + 1  #]\n    return c\n\n\nprint(asyncio.run(f(1)))\n",
    ),
    (
        "async for and with",
        "import asyncio\nimport contextlib\n\n\nasync def gen():\n    yield 1\n    yield 2\n\n\nclass A:\n    @contextlib.asynccontextmanager\n    async def cm(self):\n        yield 3\n\n    async def f(self):\n        out = []\n        async for x in gen():  #[\n            out.append(x)\n        async with self.cm() as y:\n            out.append(y)  #]\n        return out\n\n\nprint(asyncio.run(A().f()))\n",
    ),
    (
        "async without await",
        "import asyncio\n\n\nasync def f(a):\n    b = a + 1  #[\n    print(b)  #]\n    return b\n\n\nprint(asyncio.run(f(1)))\n",
    ),
    (
        "a nested function",
        "def f(a):\n    def inner(b):\n        c = a + b  #[\n        print(c)  #]\n        return c\n\n    return inner(2)\n\n\nprint(f(1))\n",
    ),
    (
        "a function in the range",
        "def f(a):\n    def inner(b):  #[\n        return a + b\n\n    x = inner(2)  #]\n    return x\n\n\nprint(f(1))\n",
    ),
    (
        "nonlocal",
        "def f():\n    n = 0\n\n    def inc():\n        nonlocal n\n        n += 1  #[\n        print(n)  #]\n\n    inc()\n    inc()\n    return n\n\n\nprint(f())\n",
    ),
    (
        "global",
        "n = m = 0\n\n\ndef inc():\n    global n, m\n    n += 1  #[\n    m = n  #]\n    return n\n\n\nprint(inc(), inc(), n, m)\n",
    ),
    (
        "the module",
        "xs = [1, 2]\ntotal = 0\nfor x in xs:  #[\n    total += x  #]\nprint(total)\n",
    ),
    (
        "the module, for functions",
        "def show():\n    print(limit)\n\n\nbase = 2\nlimit = base * 2  #[\nother = limit + 1  #]\nshow()\nprint(other)\n",
    ),
    (
        "comments",
        "def f(a):\n    # first  #[\n    b = a  # trailing\n# at the margin\n    c = b + 1\n    # last  #]\n    return c\n\n\nprint(f(1))\n",
    ),
    (
        "walrus",
        "def f(xs):\n    if (n := len(xs)) > 1:  #[\n        print(n)  #]\n    return n\n\n\nprint(f([1, 2]), f([]))\n",
    ),
    (
        "match",
        "def f(x):\n    match x:  #[\n        case [a, *rest]:\n            out = a, rest\n        case {'k': v, **more}:\n            out = v, more\n        case _:\n            out = None  #]\n    return out\n\n\nprint(f([1, 2]), f({'k': 1, 'l': 2}), f(3))\n",
    ),
    (
        "in a case",
        "def f(x):\n    match x:\n        case [a, *rest]:\n            b = a + len(rest)  #[\n            print(b)  #]\n        case _:\n            b = 0\n    return b\n\n\nprint(f([1, 2]), f(3))\n",
    ),
    (
        "decorators above",
        "import functools\n\n\ndef deco(f):\n    @functools.wraps(f)\n    def inner(*a):\n        return f(*a)\n\n    return inner\n\n\n@deco\n@deco\ndef f(a):\n    b = a + 1  #[\n    print(b)  #]\n    return b\n\n\nprint(f(1))\n",
    ),
    (
        "a last return",
        "def f(a):\n    b = a + 1\n    c = b * 2  #[\n    return c  #]\n\n\nprint(f(1))\n",
    ),
    (
        "returns on every way",
        "def f(a):\n    b = a + 1\n    if b > 2:  #[\n        return 'x'\n    elif b:\n        return 'y'\n    else:\n        raise ValueError  #]\n\n\nprint(f(1), f(2))\n",
    ),
    (
        "a whole loop with break",
        "def f(xs):\n    found = None\n    for x in xs:  #[\n        if x > 1:\n            found = x\n            break\n        continue  #]\n    return found\n\n\nprint(f([1, 2, 3]), f([]))\n",
    ),
    (
        "while true",
        "def f(a):\n    while True:  #[\n        b = a\n        a += 1\n        if b > 3:\n            break  #]\n    return a, b\n\n\nprint(f(1))\n",
    ),
    (
        "with",
        "import io\n\n\ndef f(text):\n    with io.StringIO(text) as file:  #[\n        data = file.read()  #]\n    return data\n\n\nprint(f('x'))\n",
    ),
    (
        "suppressed errors",
        "import contextlib\n\n\ndef f(a):\n    x = 0\n    with contextlib.suppress(ValueError):  #[\n        x = int(a)  #]\n    return x\n\n\nprint(f('a'), f('1'))\n",
    ),
    (
        "star arguments",
        "def f(*args, k=1, **kw):\n    out = [*args, k, *kw]  #[\n    out.reverse()  #]\n    return out\n\n\nprint(f(1, 2, k=3, z=4))\n",
    ),
    (
        "comprehensions",
        "def f(xs, n):\n    ys = [x * n for x in xs]  #[\n    zs = {k: v for k, v in zip(xs, ys)}  #]\n    return zs\n\n\nprint(f([1, 2], 3))\n",
    ),
    (
        "strings of several lines",
        "def f(a):\n    if a:  #[\n        text = '''one\n  two\n'''\n        print(text, f'''{a}\n three''')  #]\n\n\nf(1)\n",
    ),
    (
        "a class in the range",
        "def f(a):\n    class B:  #[\n        x = a\n\n    b = B()  #]\n    return b.x\n\n\nprint(f(1))\n",
    ),
    (
        "augmented items",
        "def f(d, k):\n    d[k] += 1  #[\n    d['n'] = d[k]  #]\n    return d\n\n\nprint(f({'a': 1}, 'a'))\n",
    ),
    (
        "del",
        "def f(a):\n    tmp = a + 1  #[\n    b = tmp * 2\n    del tmp  #]\n    return b\n\n\nprint(f(1))\n",
    ),
    (
        "finally",
        "def f(a):\n    try:\n        b = a + 1\n    finally:\n        c = a * 2  #[\n        print(c)  #]\n    return b, c\n\n\nprint(f(1))\n",
    ),
    (
        "names in other letters",
        "def f(größe):\n    名 = größe + 1  #[\n    print(名)  #]\n    return 名\n\n\nprint(f(1))\n",
    ),
    (
        "annotations",
        "def f(a: int) -> int:\n    b: int = a  #[\n    c: list[int] = [b]  #]\n    return c[0] + b\n\n\nprint(f(1))\n",
    ),
    (
        "a closure over a result",
        "def f(a):\n    b = a + 1  #[\n    print(b)  #]\n    return (lambda: b)()\n\n\nprint(f(1))\n",
    ),
    (
        "bytes of several lines",
        "TEXT = b\"\"\"x\\\n  y\n\"\"\"\n\n\ndef f(a):\n    b = TEXT  #[\n    print(b, a)  #]\n\n\nf(1)\n",
    ),
    (
        "a self before a slash",
        "class A:\n    def f(self, a, /, **kw):\n        b = a or kw  #[\n        print(b)  #]\n\n\nA().f({}, x=1)\n",
    ),
    (
        "new",
        "class A:\n    def __new__(cls, a):\n        self = super().__new__(cls)\n        self.x = a  #[\n        print(cls.__name__, a)  #]\n        return self\n\n\nclass B(A):\n    pass\n\n\nprint(B(1).x)\n",
    ),
    (
        "init_subclass",
        "class A:\n    def __init_subclass__(cls, **kw):\n        cls.kw = kw  #[\n        print(cls.__name__)  #]\n\n\nclass B(A, x=1):\n    pass\n\n\nprint(B.kw)\n",
    ),
];

/// The text between the marks becomes a function.
pub(crate) const EXPRESSIONS: &[&str] = &[
    "def f(a, b):\n    return («a + b») * 2\n\n\nprint(f(1, 2))\n",
    "def f(xs, n):\n    return [«x * n + 1» for x in xs]\n\n\nprint(f([1, 2], 3))\n",
    "class A:\n    x = 2\n\n    def f(self, a):\n        return 1 + «self.x * a»\n\n\nprint(A().f(3))\n",
    "def f(a):\n    return (\n        «a +\n        # why\n        1»\n    )\n\n\nprint(f(1))\n",
    "import asyncio\n\n\nasync def f(a):\n    return 1 + «await asyncio.sleep(0, a)»\n\n\nprint(asyncio.run(f(1)))\n",
    "xs = [1, 2]\nprint(«sum(x + 1 for x in xs)» * 2)\n",
];

/// The expression between the marks becomes a variable.
pub(crate) const VARIABLES: &[&str] = &[
    "def f(a, b):\n    return «(a + b)» * 2\n\n\nprint(f(1, 2))\n",
    "def f(a, b):\n    return (a «+ b») * 2\n\n\nprint(f(1, 2))\n",
    "def f(a):\n    print(\n        «a +\n        1»,\n    )\n\n\nf(1)\n",
    "class A:\n    def f(self, a):\n        if «self.g(a)» > 1:\n            return 'x'\n        return 'y'\n\n    def g(self, a):\n        return a\n\n\nprint(A().f(1), A().f(2))\n",
    "def f(xs):\n    for x in «sorted(xs)»:\n        print(x)\n\n\nf([2, 1])\n",
    "def f(d):\n\tif d:\n\t\treturn «d['a']»['b']\n\n\nprint(f({'a': {'b': 1}}))\n",
    "import asyncio\n\n\nasync def f(a):\n    return [«await asyncio.sleep(0, a)», 2]\n\n\nprint(asyncio.run(f(1)))\n",
    "print(«1 + 2» + 3)\n",
    "def f(a):\n    return «{\n        'x': a,\n        # note\n        'y': 2,\n    }»['x']\n\n\nprint(f(1))\n",
    "def f(a):\n    text = '''x\n  y'''; b = 1\n    return «a + b»\n\n\nprint(f(1))\n",
    "def f(a):\n    match «a + 1»:\n        case 2:\n            return 'two'\n    return None\n\n\nprint(f(1))\n",
    "def f(x):\n    return «lambda y: x + y»\n\n\nprint(f(1)(2))\n",
    "@staticmethod\ndef f():\n    with «open('/dev/null')» as file:\n        return file.read() + 'x'\n\n\nprint(f())\n",
];

/// Ranges that cannot be a function: the code, and a part of the message.
pub(crate) const REFUSED_METHODS: &[(&str, &str, &str)] = &[
    (
        "def f(a):\n    if a:  #[\n        return 1  #]\n    return 2\n",
        "conflict",
        "not on every way",
    ),
    (
        "def f(a):\n    yield a  #[\n    b = 1  #]\n",
        "conflict",
        "yield",
    ),
    (
        "def f(a):\n    for x in a:\n        if x:  #[\n            break  #]\n",
        "conflict",
        "break",
    ),
    (
        "def f(a):\n    for x in a:\n        if x:  #[\n            continue  #]\n",
        "conflict",
        "continue",
    ),
    (
        "def f(a):\n    if a:  #[\n        b = 1  #]\n        c = 2\n",
        "invalid_params",
        "whole statements",
    ),
    (
        "def f(a):\n    x = (  #[\n        1 +  #]\n        2)\n",
        "invalid_params",
        "whole statements",
    ),
    (
        "def f(a):\n    if a:\n        b = 1  #[\n    else:\n        b = 2  #]\n",
        "invalid_params",
        "whole statements",
    ),
    (
        "def f(a):\n    if a:\n        b = 1  #[\n    else:  #]\n        b = 2\n",
        "invalid_params",
        "whole statements",
    ),
    (
        "class A:\n    x = 1  #[\n    y = 2  #]\n",
        "invalid_params",
        "body of a class",
    ),
    (
        "def helper():\n    pass\n\n\ndef f(a):\n    b = a  #[\n    print(b)  #]\n",
        "conflict",
        "line 1",
    ),
    (
        "class A:\n    def helper(self):\n        pass\n\n    def f(self):\n        x = 1  #[\n        print(x)  #]\n",
        "conflict",
        "line 2",
    ),
    (
        "def f(a):\n    if a:\n        x = 1\n    print(x)  #[\n    print(a)  #]\n",
        "conflict",
        "`x` may have no value",
    ),
    (
        "def f(a):\n    if a:  #[\n        x = 1  #]\n    print(x)\n",
        "conflict",
        "`x` may have no value",
    ),
    (
        "def f():\n    x = 0\n    try:\n        x = 1  #[\n        g()  #]\n    except ValueError:\n        pass\n    return x\n",
        "conflict",
        "after an error",
    ),
    (
        "def f(a):\n    x = 0\n    g = lambda: x  #[\n    h = g  #]\n    x = 2\n    return h()\n",
        "conflict",
        "other values later",
    ),
    ("from os import *  #[\nx = 1  #]\n", "conflict", "import *"),
    (
        "def f(:\n    x = 1  #[  #]\n",
        "parse_error",
        "syntax error",
    ),
    (
        "def f():\n    x = 1\n    # only a comment  #[  #]\n",
        "invalid_params",
        "whole statements",
    ),
    (
        "def f(a):\n    return («a» + 1 := 2)\n",
        "parse_error",
        "syntax error",
    ),
    (
        "def f(a):\n    return a «+ 1»\n",
        "invalid_params",
        "whole statements",
    ),
    ("def f(a):\n    return «(b := a)» + b\n", "conflict", ":="),
    (
        "def f(a):\n    if a: pass\n    else: x = 1  #[  #]\n",
        "invalid_params",
        "whole statements",
    ),
    (
        "class A:\n    def __new__(cls):\n        self = super().__new__(cls)  #[  #]\n        return self\n",
        "conflict",
        "super",
    ),
];

/// Expressions that cannot be a variable.
pub(crate) const REFUSED_VARIABLES: &[(&str, &str, &str)] = &[
    (
        "def f(xs):\n    return [«x + 1» for x in xs]\n",
        "conflict",
        "`x`",
    ),
    ("f = lambda x: «x + 1»\n", "conflict", "`x`"),
    (
        "def f(a):\n    while «a > 1»:\n        a -= 1\n",
        "conflict",
        "while",
    ),
    (
        "def f(a):\n    return f'{«a»}'\n",
        "invalid_params",
        "f-string",
    ),
    (
        "def f(a):\n    b = a; c = «b + 1»\n",
        "conflict",
        "before it in its line",
    ),
    (
        "def f(a): return «a * 2» + 1\n",
        "conflict",
        "behind the `:`",
    ),
    (
        "for i in range(3): print(«i * 2»)\n",
        "conflict",
        "behind the `:`",
    ),
    (
        "try: n = int('x')\nexcept ValueError as e: n = «str(e) + 'x'»\n",
        "conflict",
        "behind the `:`",
    ),
    (
        "def f(a):\n    while a:\n        a = a[1:]\n    else: print(«a * 2»)\n",
        "conflict",
        "behind the `:`",
    ),
    (
        "def f(a):\n    if (a\n        and a.b): return «a.b + 1»\n",
        "conflict",
        "behind the `:`",
    ),
    (
        "def f(a):\n    with open(a) as b, «b.c()» as d:\n        return d\n",
        "conflict",
        "`b`",
    ),
    (
        "def f(a):\n    match a:\n        case [b] if «b + 1»:\n            return b\n",
        "conflict",
        "`b`",
    ),
    ("def f(value):\n    return «1 + 2»\n", "conflict", "line 1"),
    (
        "def f(a):\n    if (n := a) and «n + 1»:\n        pass\n",
        "conflict",
        "`n`",
    ),
    (
        "@print\ndef f(a=«1 + 2»):\n    pass\n",
        "conflict",
        "decorators",
    ),
    ("def f():\n    x = «(yield 1)»\n", "conflict", "yield"),
    (
        "def g():\n    value()\n\n\ndef f(a):\n    return value + «a.b»\n",
        "conflict",
        "line 6",
    ),
    (
        "def f(a):\n    if a:\n        pass\n    elif «a + 1»:\n        pass\n",
        "conflict",
        "elif",
    ),
];

/// What stands behind `|` is inlined; a second file uses the first.
pub(crate) const INLINES: &[(&str, Option<&str>)] = &[
    (
        "def f(a, b):\n    |x = a + b\n    return x * 2 + abs(x)\n\n\nprint(f(1, 2))\n",
        None,
    ),
    (
        "def f(a):\n    |x = -a\n    return x ** 2, (x).real, [x]\n\n\nprint(f(3))\n",
        None,
    ),
    (
        "def f(a):\n    |x = a if a else 1\n    return x + 1, f'{x}'\n\n\nprint(f(0))\n",
        None,
    ),
    (
        "def f(a):\n    |x = [\n        a,\n        1,\n    ]\n    return len(x)\n\n\nprint(f(0))\n",
        None,
    ),
    (
        "def f(a):\n    |x: int = a and 1\n    return not x\n\n\nprint(f(0))\n",
        None,
    ),
    (
        "def |double(v):\n    return v * 2\n\n\nprint(double(1 + 2))\nprint(double(v=5))\n",
        None,
    ),
    (
        "def |show(v):\n    w = v + 1\n    print(w)\n\n\nshow(1)\nif True:\n    show(2)\n",
        None,
    ),
    (
        "def |calc(v):\n    w = v + 1\n    return w * 2\n\n\ndef f():\n    w = 10\n    r = calc(3)\n    return r + w\n\n\nprint(f())\n",
        None,
    ),
    (
        "def |double(v):\n    return v * 2\n\n\nx = 1\n",
        Some("from m import double\n\nprint(double(1 + 2))\n"),
    ),
    (
        "class A:\n    def |g(self, a):\n        return a + 1\n\n    def f(self):\n        return self.g(2) * 2\n\n\nprint(A().f())\n",
        None,
    ),
    (
        "def |add(v, w):\n    return v + w\n\n\nprint(add(1, 2) * 2)\n",
        None,
    ),
    (
        "|LIMIT = 1 + 2\n\n\ndef f():\n    return LIMIT * 2\n\n\nprint(f())\n",
        None,
    ),
    (
        "def f(a):\r\n\t|x = a + 1\r\n\treturn x * 2\r\n\r\n\r\nprint(f(1))",
        None,
    ),
];

/// What cannot be inlined.
pub(crate) const REFUSED_INLINES: &[(&str, &str)] = &[
    (
        "def f(a):\n    |x = a\n    x = 2\n    return x\n",
        "conflict",
    ),
    (
        "def f(a):\n    |x = a\n    a = 2\n    return x\n",
        "conflict",
    ),
    ("def f(a):\n    |x, y = a\n    return x\n", "conflict"),
    (
        "def f(i):\n    |x = i + 1\n    return [x for i in range(2)]\n",
        "conflict",
    ),
    (
        "def |g(v):\n    if v:\n        return 1\n    return 2\n\n\nprint(g(1))\n",
        "conflict",
    ),
    (
        "def |g(v):\n    v = v * 10\n    return v\n\n\nprint(g(1))\n",
        "conflict",
    ),
    (
        "def |g(v):\n    yield v\n\n\nprint(list(g(1)))\n",
        "conflict",
    ),
    (
        "def |g(n):\n    return n and g(n - 1)\n\n\nprint(g(1))\n",
        "conflict",
    ),
    (
        "def |g(v):\n    return v + v\n\n\nprint(g(input()))\n",
        "conflict",
    ),
    (
        "def |g(v):\n    print(v)\n    return v\n\n\nx = 0 and g(1)\n",
        "conflict",
    ),
    (
        "def |g(v):\n    w = 1\n    return v + w\n\n\nw = 3\nx = g(w)\n",
        "conflict",
    ),
    ("def |g(v):\n    return v\n\n\nx = g\n", "conflict"),
    ("for |i in range(2):\n    print(i)\n", "conflict"),
    ("def f(|a):\n    return a\n", "invalid_params"),
    ("|pass\n", "invalid_params"),
    ("print(|len)\n", "invalid_params"),
    ("x = (\n|y = 1\n", "parse_error"),
    (
        "def f():\n    |x = {}\n    x['a'] = 1\n    return x\n",
        "conflict",
    ),
    (
        "def f(xs):\n    |x = list(xs)\n    for y in xs:\n        x.pop()\n",
        "conflict",
    ),
    (
        "class A:\n    def f(self):\n        |old = self.x\n        self.x = 1\n        return old\n",
        "conflict",
    ),
    (
        "class A:\n    def |g(self):\n        return 1\n\n\ndef f(a):\n    return a.g()\n",
        "conflict",
    ),
];
