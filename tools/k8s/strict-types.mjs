// @ts-check
// Checks manifests against the types of the Kubernetes API and of the custom resources: unknown keys, missing keys, wrong types.
// The compiler does it: an object literal may have no key that its type does not know.
import path from 'node:path';
import ts from 'typescript';

/** @typedef {import('./render.mjs').Manifest} Manifest */

const root = path.resolve(import.meta.dirname, '../..');

/** Package of the types of a group of custom resources. */
const packages = new Map([
  ['external-secrets.io', '@kubernetes-models/external-secrets'],
  ['gateway.networking.k8s.io', '@kubernetes-models/gateway-api'],
  ['keda.sh', '@kubernetes-models/keda'],
  ['monitoring.coreos.com', '@kubernetes-models/prometheus-operator'],
  ['postgresql.cnpg.io', '@kubernetes-models/cloudnative-pg'],
]);
/** Groups that every cluster has, with the kinds that are used here. */
const builtIn = new Map([
  ['v1', ['ConfigMap', 'Namespace', 'Secret', 'Service', 'ServiceAccount']],
  ['apps/v1', ['Deployment', 'StatefulSet']],
  ['batch/v1', ['CronJob', 'Job']],
  ['networking.k8s.io/v1', ['NetworkPolicy']],
  ['policy/v1', ['PodDisruptionBudget']],
]);

/**
 * @param {readonly Manifest[]} manifests
 * @returns {Promise<string[]>} errors with kind and name of the object; empty: all are valid
 */
export async function typeErrors(manifests) {
  /** @type {string[]} */
  const errors = [];
  let source = '';
  /** First line of each object in the source. @type {{ from: number, label: string }[]} */
  const places = [];
  for (const [index, manifest] of manifests.entries()) {
    const label = `${manifest.kind} ${manifest.metadata?.name}`;
    const type = typeOf(manifest);
    if (type === null) {
      errors.push(`${label}: no type is known for ${manifest.apiVersion}`);
      continue;
    }
    places.push({ from: source.split('\n').length, label });
    source += `export const o${index}: import('${type.module}').${type.name} = ${literal(manifest, type)};\n`;
    if (type.isCustom) {
      const found = await schemaErrors(manifest, type.module);
      errors.push(...found.map((text) => `${label}: ${text}`));
    }
  }
  return [...errors, ...compilerErrors(source, places)];
}

/**
 * @param {Manifest} manifest
 * @param {{ isCustom: boolean }} type
 */
function literal(manifest, { isCustom }) {
  const json = JSON.stringify(manifest, null, 1);
  // The generated classes of the built-in types avoid this word.
  return isCustom ? json : json.replaceAll(/^( *)"from":/gm, '$1"_from":');
}

/** @param {Manifest} manifest */
function typeOf({ apiVersion, kind }) {
  if (builtIn.get(apiVersion)?.includes(kind) === true) {
    return {
      module: `@kubernetes/client-node/dist/gen/models/V1${kind}.js`,
      name: `V1${kind}`,
      isCustom: false,
    };
  }
  const from = packages.get(apiVersion.split('/')[0] ?? '');
  return from === undefined ? null : { module: `${from}/${apiVersion}`, name: `I${kind}`, isCustom: true };
}

/**
 * Patterns, ranges and formats, which types do not have.
 *
 * @param {Manifest} manifest
 * @param {string} module
 * @returns {Promise<string[]>}
 */
async function schemaErrors(manifest, module) {
  try {
    const models = await import(module);
    new models[manifest.kind](manifest).validate();
    return [];
  } catch (error) {
    return [/** @type {Error} */ (error).message];
  }
}

/**
 * @param {string} source
 * @param {readonly { from: number, label: string }[]} places
 * @returns {string[]}
 */
function compilerErrors(source, places) {
  const file = path.join(root, 'tools/k8s/manifests.generated.ts');
  /** @type {ts.CompilerOptions} */
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, ...rest) =>
    name === file ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest);
  const program = ts.createProgram([file], options, host);
  return ts.getPreEmitDiagnostics(program, program.getSourceFile(file)).map((diagnostic) => {
    const line = diagnostic.file?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0;
    const place = places.findLast(({ from }) => from <= line + 1);
    const key = /^\s*"([^"]+)"/.exec(source.split('\n')[line] ?? '')?.[1] ?? '';
    return `${place?.label}: ${key}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')}`;
  });
}
