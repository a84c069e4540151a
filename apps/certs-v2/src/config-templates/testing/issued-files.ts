import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { forgedRoot } from '../../instances/testing/forged-authority';
import type { placeholders } from '../config-templates';

/** The paths that a user of the templates has. */
export type IssuedFiles = Readonly<Record<Exclude<(typeof placeholders)[number], 'DHPARAMS'>, string>>;

export const servedName = 'www.example.com';

/** A certificate, its intermediate and its root, as files of a folder. */
export function issueFiles(folder: string): IssuedFiles {
  const root = forgedRoot('Spec root');
  const intermediate = root.subordinate('Spec intermediate');
  const leaf = intermediate.issue({ dnsNames: [servedName] });
  const key = leaf.keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const file = (name: string, ...parts: readonly string[]) => {
    const at = path.join(folder, name);
    writeFileSync(at, parts.join(''));
    return at;
  };
  const files = {
    CERT: file('leaf.crt', leaf.pem),
    KEY: file('leaf.key', key),
    CHAIN: file('intermediate.crt', intermediate.pem),
    CHAINED: file('chained.crt', leaf.pem, intermediate.pem),
    COMBINED: file('combined.pem', key, leaf.pem, intermediate.pem),
    ROOT: file('root.crt', root.pem),
  };
  for (const secret of [files.KEY, files.COMBINED]) chmodSync(secret, 0o600);
  return files;
}

/** As the command-line client does. */
export function filledIn(template: string, files: IssuedFiles): string {
  return template.replace(/__(\w+?)_PATH__/g, (whole, name: string) =>
    Object.hasOwn(files, name) ? files[name as keyof IssuedFiles] : whole,
  );
}
