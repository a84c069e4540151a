import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const workspaceRoot = path.join(__dirname, '../../..');
const builtIn = 'apps/issuance-worker/src/certificate-authorities/built-in';

it('the program of the worker has no code that reads or uses a root key', () => {
  execFileSync(process.execPath, ['tools/build/build.mjs', 'apps/issuance-worker'], { cwd: workspaceRoot });
  const program = readFileSync(path.join(workspaceRoot, 'dist/apps/issuance-worker/main.js'), 'utf8');
  // The bundler writes the path of each source above its code.
  expect(program).toContain(`// ${builtIn}/keys/key-files.ts`);
  expect(program).not.toContain(`// ${builtIn}/ceremony/`);
  for (const onlyInCeremony of ['signRootList', 'signIntermediate', 'createRoot', 'createSandboxCa'])
    expect(program).not.toContain(onlyInCeremony);
});
