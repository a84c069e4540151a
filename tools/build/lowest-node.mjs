// @ts-check
// The lowest Node.js that the processes run on. `engines` in package.json is about the tools (`npm start`,
// `npm test`): they also run on an older one, because they start the processes with the Node.js that npm installs.

/** Also the version on which CI runs the built processes. */
export const LOWEST_NODE = '22.19.0';

/** Of the agent, which runs on hosts with what their distribution or operator has installed. */
export const LOWEST_NODE_OF_AGENT = '20.19.0';

/**
 * @param {string} version as in `process.versions.node`
 * @param {string} lowest
 */
export function isAtLeast(version, lowest) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [lowestMajor = 0, lowestMinor = 0] = lowest.split('.').map(Number);
  return major > lowestMajor || (major === lowestMajor && minor >= lowestMinor);
}

/**
 * The first statement of every bundle. It must run on any Node.js that can parse the bundle, so it uses old syntax only.
 * @param {string} name of the process
 * @param {string} [lowest]
 */
export function lowestNodeCheck(name, lowest = LOWEST_NODE) {
  const [major, minor] = lowest.split('.');
  const message = `${name} cannot start: it needs Node.js ${major}.${minor} or newer; this is `;
  // Stays first, where it is a directive: the one that esbuild writes comes after this banner.
  return `"use strict";
(function () {
  var version = process.versions.node.split('.').map(Number);
  if (version[0] > ${major} || (version[0] === ${major} && version[1] >= ${minor})) return;
  process.stderr.write(${JSON.stringify(message)} + process.versions.node + ' (' + process.execPath + ').\\n');
  process.exit(1);
})();`;
}
