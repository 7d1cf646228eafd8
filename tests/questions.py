"""A suite of questions that is asked of every town and every engine; exact ones use no function of private values."""

EXACT = [
    "SELECT sum(kwh) AS a FROM meters",
    "SELECT tariff, avg(kwh) AS a FROM meters GROUP BY tariff",
    "SELECT tariff, avg(kwh) AS a, var_samp(kwh) AS b, var_pop(peak) AS c FROM meters GROUP BY tariff",
    "SELECT avg(kwh) AS a FROM meters WHERE day >= '2013-02-01' AND tariff <> 'Std'",
    "SELECT date_trunc('month', day) AS month, avg(kwh) AS a FROM meters GROUP BY month",
    "SELECT extract(isodow FROM day) AS weekday, avg(peak) AS a FROM meters GROUP BY weekday ORDER BY weekday",
    "SELECT sum(kwh * rooms) / sum(rooms) AS a FROM meters",
    "SELECT sum(kwh * area) / sum(area) AS a, count(*) AS n FROM meters WHERE area > 40",
    "SELECT sum(kwh * peak) / sum(peak) AS a FROM meters",
    "SELECT covar_pop(kwh, peak) AS a, covar_samp(kwh, rooms) AS b FROM meters",
    "SELECT regr_slope(kwh, rooms) AS a FROM meters",
    "SELECT avg(CASE WHEN rooms >= 4 THEN kwh ELSE 2 * kwh END) AS a FROM meters",
    "SELECT avg(CASE WHEN rooms >= 4 THEN kwh END) AS a, avg(kwh) FILTER (WHERE rooms < 4) AS b FROM meters",
    "SELECT h.class, avg(m.kwh) AS a FROM meters m JOIN homes h ON m.household = h.household GROUP BY h.class",
    "SELECT sum(kwh / h.people) AS a FROM meters JOIN homes h USING (household) WHERE h.people = 2",
    "WITH winter AS (SELECT kwh AS energy FROM meters WHERE day < '2013-02-01') SELECT avg(energy) AS a FROM winter",
    "SELECT avg(power(kwh - 10, 2)) AS a, avg(kwh * kwh - 3 * kwh * peak) AS b FROM meters",
    "SELECT avg(greatest(kwh, 5)) AS a, avg(least(kwh, 20)) AS b FROM meters",
    "SELECT 3 * avg(kwh) - sum(peak) / count(*) AS a FROM meters",
]
ROUNDED = [
    "SELECT tariff, avg(above(kwh, 20, 4)) AS a FROM meters GROUP BY tariff",
    "SELECT avg(between(kwh, 5, 15, 2)) AS a FROM meters",
    "SELECT avg(exp(-kwh / 10)) AS a, avg(ln(1 + kwh)) AS b, avg(sqrt(1 + kwh)) AS c FROM meters",
    "SELECT avg(sin(kwh)) AS a, avg(cos(kwh / 3)) AS b, avg(tanh(kwh - 10)) AS c FROM meters",
    "SELECT avg(1 / peak) AS a, avg(kwh / peak) AS b, avg(power(peak, 1.5)) AS c FROM meters",
    "SELECT sqrt(greatest(var_pop(kwh), 1)) AS a FROM meters",
    "SELECT rooms, avg(kwh / area) AS a FROM meters GROUP BY rooms",
]
REFUSED = [
    "SELECT avg(kwh) FROM meters WHERE kwh > 20",
    "SELECT median(kwh) FROM meters",
    "SELECT max(kwh) FROM meters",
    "SELECT kwh FROM meters",
    "SELECT kwh, count(*) FROM meters GROUP BY kwh",
    "SELECT avg(1 / kwh) FROM meters",
    "SELECT avg(sqrt(kwh)) FROM meters",
    "SELECT avg(ln(kwh)) FROM meters",
    "SELECT stddev(kwh) FROM meters",
    "SELECT corr(kwh, peak) FROM meters",
    "SELECT avg(exp(kwh * 100)) FROM meters",
    "SELECT avg(kwh) OVER () FROM meters",
    "SELECT avg(kwh) FROM meters WHERE household = (SELECT max(household) FROM homes)",
    "SELECT avg(kwh * random()) FROM meters",
    "SELECT sum(exp((exp(kwh / 1000) * 1e-9 + 0.5 + 4503599627370496) - 4503599627370496)) FROM meters",
    "SELECT avg(kwhh) FROM meters",
    "DROP TABLE meters",
]
CANCELLATION = "SELECT sum(((kwh - 10) * 1e-9 + 0.5 + 4503599627370496) - 4503599627370496) AS a FROM meters"
ANSWERED = [*EXACT, *ROUNDED, CANCELLATION]
