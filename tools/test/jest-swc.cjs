// TypeScript to CommonJS with decorator metadata; text files as strings, as in the bundles; packages that are ESM only to CommonJS too; CommonJS packages untouched.
const { createTransformer } = require('@swc/jest');
const { ts, js } = require('../build/swc-options.cjs');

const commonJs = { module: { type: 'commonjs' } };
const typescript = createTransformer({ ...ts, ...commonJs });
const javascript = createTransformer({ ...js, ...commonJs });
const esmSyntax = /^\s*(?:import[\s{*"']|export[\s{*])|import\.meta/m;

module.exports = {
  getCacheKey: (source, file, options) =>
    (file.endsWith('.ts') ? typescript : javascript).getCacheKey(source, file, options),
  process(source, file, options) {
    if (file.endsWith('.txt'))
      return { code: `exports.__esModule = true; exports.default = ${JSON.stringify(source)};` };
    if (file.endsWith('.ts')) return typescript.process(source, file, options);
    return esmSyntax.test(source) ? javascript.process(source, file, options) : { code: source };
  },
};
