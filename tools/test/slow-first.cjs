// Specs that take long or wait for whole processes begin first: one that is begun last keeps one core waiting for it alone.
const { default: Sequencer } = require('@jest/test-sequencer');

const waits = [
  /^tools\/up\/start\.spec\.ts$/,
  /^tools\/e2e\/.*$/,
  /^tools\/bench\/managed\/|^tools\/agent-package\/package\.spec|^apps\/agent\/src\/servers\//,
  /worker-with-acme\.spec\.ts$/,
  /-process\.spec\.ts$/,
  /simulate\.spec\.ts$|many-polls\.spec\.ts$/,
  /providers\/(powerdns|rfc2136)\//,
  /certificate-authorities\/(acme|health)\/|acme\/pebble\.spec\.ts$/,
  /runs\/merging\.spec\.ts$|misbehaving-logs\.spec\.ts$/,
];

module.exports = class SlowFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path, context }) => {
      const file = path.slice(context.config.rootDir.length + 1);
      const at = waits.findIndex((pattern) => pattern.test(file));
      return at < 0 ? waits.length : at;
    };
    const usual = super.sort(tests);
    return usual
      .map((test, at) => ({ test, at, rank: rank(test) }))
      .sort((one, other) => one.rank - other.rank || one.at - other.at)
      .map(({ test }) => test);
  }
};
