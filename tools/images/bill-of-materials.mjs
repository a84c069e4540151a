// @ts-check
// The bill of materials of an image (CycloneDX 1.6): the npm packages that are in its bundle, Node.js, and the Debian
// packages that its libraries are from.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { workspaceRoot } from '../up/workspace.mjs';
import { bundleOf, lockedPackage, platforms } from './context.mjs';

/** The Debian packages of the libraries that docker/Dockerfile copies. */
const LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6'];

/**
 * @typedef {object} Described
 * @property {string} image
 * @property {import('./context.mjs').Architecture} architecture
 * @property {string} version
 * @property {string} revision commit
 * @property {number} epoch seconds since 1970
 * @property {string} status of dpkg in the base image
 */

/** @param {Described} described */
export function billOfMaterials({ image, architecture, version, revision, epoch, status }) {
  const components = [
    ...npmComponents(image),
    nodeComponent(architecture),
    ...debianComponents(status, architecture),
  ];
  const subject = {
    'bom-ref': `certwright-${image}`,
    type: 'container',
    name: `certwright-${image}`,
    version,
    licenses: [{ license: { id: 'Apache-2.0' } }],
    properties: [
      { name: 'certwright:revision', value: revision },
      { name: 'certwright:platform', value: `linux/${architecture}` },
    ],
  };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(`${image} ${architecture} ${revision}`)}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1_000).toISOString(),
      tools: { components: [{ type: 'application', name: 'certwright tools/images', version }] },
      component: subject,
    },
    components,
    dependencies: [
      { ref: subject['bom-ref'], dependsOn: components.map((component) => component['bom-ref']) },
    ],
  };
}

/** @param {string} image */
function npmComponents(image) {
  /** @type {string[]} */
  const folders = JSON.parse(readFileSync(path.join(bundleOf(image), 'main.packages.json'), 'utf8'));
  /** @type {Map<string, ReturnType<typeof npmComponent>>} */
  const components = new Map();
  for (const folder of folders) {
    const component = npmComponent(folder);
    components.set(component['bom-ref'], component);
  }
  return [...components.values()].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
}

/** @param {string} folder from the workspace root */
function npmComponent(folder) {
  const manifest = JSON.parse(readFileSync(path.join(workspaceRoot, folder, 'package.json'), 'utf8'));
  const { name, version, license } = manifest;
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const { integrity } = lockedPackage(folder.replace(/^node_modules\//, '')) ?? {};
  return {
    'bom-ref': purl,
    type: 'library',
    name,
    version,
    purl,
    ...(typeof license === 'string' && { licenses: [{ expression: license }] }),
    ...(integrity?.startsWith('sha512-') && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice(7), 'base64').toString('hex') }],
    }),
  };
}

/** @param {import('./context.mjs').Architecture} architecture */
function nodeComponent(architecture) {
  const { version } = lockedPackage(`node-linux-${platforms[architecture]}`);
  const purl = `pkg:generic/node@${version}?arch=${architecture}`;
  return {
    'bom-ref': purl,
    type: 'platform',
    name: 'node',
    version,
    purl,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
  };
}

/**
 * @param {string} status
 * @param {string} architecture
 */
function debianComponents(status, architecture) {
  const entries = status.split(/\n\n+/).map((entry) => new Map(fieldsOf(entry)));
  return LIBRARIES.map((name) => {
    const entry = entries.find((each) => each.get('Package') === name);
    const version = entry?.get('Version');
    if (version === undefined)
      throw new Error(
        `The base image has no package ${name}. Use an image of Debian, such as bookworm-slim.`,
      );
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
    return { 'bom-ref': purl, type: 'library', name, version, purl };
  });
}

/**
 * @param {string} entry
 * @returns {[string, string][]}
 */
const fieldsOf = (entry) =>
  entry.split('\n').flatMap((line) => {
    const match = /^([A-Za-z-]+): (.*)$/.exec(line);
    return match ? [[match[1] ?? '', match[2] ?? '']] : [];
  });

/**
 * A name-based UUID: the same image has the same serial number.
 * @param {string} text
 */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
