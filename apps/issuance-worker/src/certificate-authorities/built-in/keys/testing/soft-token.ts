import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import { caKeySettings } from '../key-settings';
import { TokenKeys, type TokenSettings } from '../token-keys';

const library = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/local/lib/softhsm/libsofthsm2.so'].find(existsSync);
const packageFolder = caKeySettings.BUILT_IN_CA_PKCS11_PACKAGE.default ?? '';

/** What tools/test/peers.sh could not install here; empty: specs with tokens can run. */
export const missingForTokens: readonly string[] = [
  ...(library === undefined ? ['softhsm2'] : []),
  ...(existsSync(path.join(packageFolder, 'build')) ? [] : ['pkcs11js']),
];

/** Tokens in software (SoftHSM), in a folder of their own. */
export class SoftToken {
  readonly pin = 'spec-pin-2749';
  /** Of a process that uses the token. A spec that uses it itself assigns this to `process.env`. */
  readonly environment: Readonly<Record<string, string>>;
  private readonly tokens: string;

  private constructor(private readonly folder: string) {
    this.tokens = path.join(folder, 'tokens');
    this.environment = { SOFTHSM2_CONF: path.join(folder, 'softhsm2.conf') };
  }

  static create(label: string): SoftToken {
    const token = new SoftToken(mkdtempSync(path.join(tmpdir(), 'certwright-token-')));
    mkdirSync(token.tokens);
    writeFileSync(
      path.join(token.folder, 'softhsm2.conf'),
      `directories.tokendir = ${token.tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`,
    );
    token.run('--init-token', '--free', '--label', label, '--so-pin', 'spec-so-pin', '--pin', token.pin);
    return token;
  }

  settings(token: string, changes: Partial<TokenSettings> = {}): TokenSettings {
    const keys = ['certwright-intermediate', 'certwright-intermediate-2'];
    return { packageFolder, module: library ?? '', token, pin: this.pin, keys, ...changes };
  }

  keys(token: string, changes: Partial<TokenSettings> = {}): TokenKeys {
    return new TokenKeys(this.settings(token, changes));
  }

  /** Settings of a worker. */
  workerSettings(token: string): Readonly<Record<string, string>> {
    return {
      ...this.environment,
      BUILT_IN_CA_KEYS: 'pkcs11',
      BUILT_IN_CA_PKCS11_MODULE: library ?? '',
      BUILT_IN_CA_PKCS11_TOKEN: token,
      BUILT_IN_CA_PKCS11_PIN: this.pin,
      BUILT_IN_CA_PKCS11_PACKAGE: packageFolder,
    };
  }

  run(...args: readonly string[]): string {
    const env = { PATH: '/usr/bin:/usr/local/bin', ...this.environment };
    return execFileSync('softhsm2-util', args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Takes the token out, as its sessions notice. */
  remove(): void {
    renameSync(this.tokens, `${this.tokens}-removed`);
    mkdirSync(this.tokens);
    this.loseSessions();
  }

  insert(): void {
    rmSync(this.tokens, { recursive: true });
    renameSync(`${this.tokens}-removed`, this.tokens);
  }

  /** Closes every session of this process, as a token does that was reset. */
  loseSessions(): void {
    const { PKCS11 } = createRequire(path.join(packageFolder, 'package.json'))(packageFolder) as {
      readonly PKCS11: new () => {
        load(file: string): void;
        C_GetSlotList(withToken: boolean): Buffer[];
        C_CloseAllSessions(slot: Buffer): void;
      };
    };
    const pkcs11 = new PKCS11();
    pkcs11.load(library ?? '');
    for (const slot of pkcs11.C_GetSlotList(true)) pkcs11.C_CloseAllSessions(slot);
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true });
  }
}
