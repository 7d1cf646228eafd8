"""Requests at random: valid ones, nearly valid ones, and rubbish; reproducible from a seed."""

import json
import random
import string

PATHS = [
    "/v1/tables",
    "/v1/tables/pay",
    "/v1/price",
    "/v1/ask",
    "/v1/simulate",
    "/v1/reconcile",
    "/v1/plan",
    "/v1/ledger",
    "/v1/ledger/entries",
    "/v1/designs",
    "/v1/streams",
    "/v1/streams/cars/answers",
    "/metrics",
    "/healthz",
    "/openapi.json",
    "/login",
    "/logout",
    "/",
    "/ask",
    "/plan",
    "/ledger",
    "/noise",
    "/about",
    "/static/base.css",
]
POSTED = ["/v1/price", "/v1/ask", "/v1/reconcile", "/v1/simulate", "/v1/designs", "/login"]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"]
QUESTIONS = [
    "SELECT avg(wage) AS mean FROM pay",
    "SELECT team, avg(wage) AS mean FROM pay GROUP BY team",
    "SELECT team, sum(wage) AS s, count(*) AS n FROM pay WHERE age > 30 GROUP BY team ORDER BY s DESC LIMIT 2",
    "SELECT hired, avg(wage) AS m FROM pay GROUP BY hired",
    "SELECT person, wage FROM pay",
    "SELECT max(wage), min(wage), median(wage) FROM pay",
    "SELECT avg(wage) FROM pay WHERE wage > 987654321",
    "SELECT sum(wage) AS s FROM pay WHERE person = 17",
    "SELECT person, sum(wage) AS s FROM pay GROUP BY person",
    "SELECT avg(CASE WHEN age > 40 THEN wage ELSE 0 END) AS m FROM pay",
    "SELECT avg(wage / age) AS m, var_pop(wage) AS v FROM pay",
    "SELECT avg(exp(wage / 1e10)) AS e, avg(above(wage, 1e6, 1e5)) AS a FROM pay",
    "SELECT avg(1 / (wage - 987654321.123)) FROM pay",
    "SELECT sum(wage) FROM pay JOIN pay USING (person)",
    "WITH x AS (SELECT wage AS w FROM pay WHERE team = 'a''b') SELECT avg(w) AS m FROM x",
    "SELECT * FROM information_schema.tables",
    "SELECT avg(wage) FROM read_csv('/etc/passwd')",
    "DROP TABLE pay; SELECT 1",
    "SELECT cast(wage AS text) FROM pay",
    "SELECT avg(wage::int) FROM pay WHERE hired > '2001-02-30'",
    "SELECT count(*) AS n FROM pay",
]
WORDS = [
    *"()*,+-/%'\"=<>.;",
    "wage",
    "person",
    "pay",
    "age",
    "avg",
    "sum",
    "NULL",
    "1e308",
    "-1",
    "0",
    "--",
    "/*",
    "\x00",
    "ß",
    "SELECT",
    "FROM",
    "GROUP BY",
    "UNION",
    "OR 1=1",
    "987654321.123",
]
NUMBERS = [
    0,
    -1,
    1,
    0.5,
    1e6,
    1e9,
    1e300,
    1e-300,
    5e-324,
    2**63,
    10**400,
    True,
    None,
    "1",
    [],
    {},
    {"mean": 1e6},
    {"m": -1},
]


def question(rng):
    """A question, one with a few words changed, or a heap of words."""
    text = rng.choice(QUESTIONS)
    kind = rng.random()
    if kind < 0.4:
        return text
    if kind < 0.9:
        parts = text.split(" ")
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(parts) + 1)
            match rng.randrange(3):
                case 0:
                    parts.insert(place, rng.choice(WORDS))
                case 1 if parts:
                    parts.pop(min(place, len(parts) - 1))
                case _ if parts:
                    parts[min(place, len(parts) - 1)] = rng.choice(WORDS)
        return " ".join(parts)
    return "".join(rng.choice([*WORDS, " "]) for _ in range(rng.randint(0, 300)))


def wanted(rng):
    body = {"sql": question(rng)}
    for _ in range(rng.choice([1, 1, 1, 0, 2])):
        name = rng.choice(
            ["max_error", "max_error", "max_error", "spend", "support", "max_loss", "dry", "charge", "extra"]
        )
        body[name] = {
            "max_error": lambda: rng.choice([10 ** rng.uniform(3, 10), rng.choice(NUMBERS)]),
            "spend": lambda: rng.choice([10 ** rng.uniform(-6, -3), rng.choice(NUMBERS)]),
            "support": lambda: support(rng),
            "max_loss": lambda: rng.choice([1e14, rng.choice(NUMBERS)]),
            "dry": lambda: rng.choice([True, False, 1, "yes"]),
            "charge": lambda: rng.choice([True, False, 0]),
            "extra": lambda: 1,
        }[name]()
    if rng.random() < 0.05:
        body["sql"] = rng.choice(NUMBERS)
    return body


def support(rng):
    number = lambda: rng.choice([0.0, -0.5, 0.5, 1e6, -1e6, 1e300, 1e-300, rng.uniform(-9, 9)])  # noqa: E731
    return rng.choice(
        [
            {"kind": "Interval", "low": number(), "high": number()},
            {"kind": "HalfLine", "low": number()},
            {"kind": "HalfLine"},
            {"kind": "Box", "low": [number(), number()], "high": [number(), number()]},
            {"kind": "Ball", "dimension": rng.choice([1, 2, 3]), "radius": number()},
            {"kind": "Ellipsoid", "shape": [[number(), number()], [number(), number()]]},
            {"kind": "Reals", "dimension": 1},
            {"kind": "Orthant", "dimension": 2},
            {"kind": "Polygon", "vertices": [[number(), number()] for _ in range(rng.randint(0, 5))]},
            {"type": "Interval"},
            5,
        ]
    )


def design(rng):
    body = {"support": support(rng), "sensitivity": rng.choice([0.2, 1.0, 1e-9, rng.choice(NUMBERS)])}
    if rng.random() < 0.4:
        body[rng.choice(["max_loss", "loss_weight", "correlation", "loss", "distances"])] = rng.choice(
            [0.3, 1.0, 1e300, "absolute", [[1.0, 0.0], [0.0, 1.0]], [0.1, 1.0], *NUMBERS]
        )
    return body


def request(rng):
    """A method, a path, headers and a body."""
    headers = {}
    if rng.random() < 0.85:
        path = rng.choice([*POSTED, *POSTED[:3], *PATHS])
        method = rng.choice(["POST" if path in POSTED else "GET"] * 50 + METHODS)
    else:
        path = "/v" + "".join(rng.choice(string.printable[:94] + "äß%/") for _ in range(rng.randint(0, 30)))
        path = path.replace("#", "%23").replace("?", "%3F")
        method = rng.choice(METHODS)
    if path == "/v1/ledger/entries" or rng.random() < 0.1:
        path += f"?after={rng.choice([0, 1, -1, 10**30, 'x'])}&limit={rng.choice([1, 100, 0, 10**9, ''])}"
    content = None
    if method in ("POST", "PUT", "PATCH") or rng.random() < 0.02:
        body = design(rng) if "designs" in path else wanted(rng)
        content = json.dumps(body, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        headers["Content-Type"] = rng.choice(
            ["application/json"] * 18 + ["text/plain", "application/json; charset=utf-7"]
        )
        if rng.random() < 0.08:
            cut = rng.randrange(len(content) + 1)
            content = rng.choice(
                [content[:cut], content[:cut] + rng.randbytes(8) + content[cut:], rng.randbytes(50), b"[" * 3000]
            )
    if rng.random() < 0.1:
        headers["Accept"] = rng.choice(
            [
                "application/vnd.apache.arrow.stream",
                "text/html",
                "*/*;q=x",
                ";;,",
                "é".encode("latin-1").decode("latin-1"),
            ]
        )
    if rng.random() < 0.05:
        headers["Idempotency-Key"] = rng.choice(["k", "k k", "x" * 300, "\x7f"])
    if rng.random() < 0.05:
        headers["Cookie"] = rng.choice(["errorfloor=x", ";;=", "errorfloor=ef_a_b; errorfloor=c"])
    return method, path, headers, content


def fuzz(client_of, count, seed, seen):
    """Send ``count`` requests by clients of random roles; ``seen(request, reply)`` looks at each reply."""
    rng = random.Random(seed)
    clients = {role: client_of(role) for role in ("owner", "analyst", "reader", None)}
    roles = ["owner", "analyst", "analyst", "reader", None]
    for _ in range(count):
        client = clients[rng.choice(roles)]
        method, path, headers, content = request(rng)
        headers = {name: value.encode("latin-1") for name, value in headers.items()}
        seen((method, path, content), client.request(method, path, headers=headers, content=content))
