// How many checks per second the endpoints of all accounts need.

const endpoints = 100_000;
const hour = 3_600;
const everyS = 6 * hour;
/** Share of the interval by which a check is earlier or later. */
const jitter = 0.1;
/** Further checks that confirm a finding, and how long each follows after the one before, seconds. */
const confirmations = 2;
const confirmAfterS = 10 * 60;
/** Share of the checks that find something new or that something is gone: about one endpoint in fifty a day. */
const changing = 0.005;
const days = 2;

/** Deterministic, so that runs can be compared: mulberry32. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @returns checks per second: mean, and in the busiest minute */
export function simulatedSchedule() {
  const random = randomNumbers(1);
  const minutes = new Array((days * 24 * hour) / 60).fill(0);
  const check = (atS) => {
    const minute = Math.floor(atS / 60);
    if (minute < minutes.length) minutes[minute] += 1;
  };
  for (let nth = 0; nth < endpoints; nth += 1) {
    for (let atS = random() * everyS; atS < days * 24 * hour;) {
      check(atS);
      if (random() < changing)
        for (let each = 0; each < confirmations; each += 1) check((atS += confirmAfterS));
      atS += everyS * (1 - jitter + 2 * jitter * random());
    }
  }
  const total = minutes.reduce((sum, each) => sum + each, 0);
  return {
    endpoints,
    mean: total / (minutes.length * 60),
    max: Math.max(...minutes) / 60,
    changed: `${((changing * 100 * 24 * hour) / everyS).toFixed(0)} %`,
  };
}
