// Packages are loaded by Node, once per worker instead of once per spec file: that halves what a spec file costs before its first test.
// Modules of the workspace are loaded again for each spec file, so that no file sees the state of another.
const { createRequire } = require('node:module');
const path = require('node:path');
const { default: Runtime } = require('jest-runtime');

const load = createRequire(__filename);
const packages = `${path.sep}node_modules${path.sep}`;
/** They must find the spec that runs. */
const ofJest = /[\\/]node_modules[\\/](?:@jest|jest[^\\/]*|expect)[\\/]/;

exports.default = class extends Runtime {
  requireModule(from, moduleName, options, isRequireActual) {
    const file = options?.isInternalModule ? undefined : packageFile(this._resolution, from, moduleName);
    return file === undefined ? super.requireModule(from, moduleName, options, isRequireActual) : load(file);
  }
};
Object.defineProperty(exports, '__esModule', { value: true });

/** @returns undefined for modules of the workspace, of Node and of Jest, and for what is not there */
function packageFile(resolution, from, moduleName) {
  if (moduleName === undefined || resolution.isCoreModule(moduleName)) return undefined;
  try {
    const file = resolution.resolveCjs(from, moduleName);
    return file.includes(packages) && !ofJest.test(file) ? file : undefined;
  } catch {
    return undefined;
  }
}
