import { existsSync } from 'node:fs';
import path from 'node:path';
import type { SealingKeys } from '@certwright/sealing';
import {
  filePath,
  list,
  oneOf,
  secret,
  sealingKeys,
  type Setting,
  SettingsError,
  type SettingValues,
  string,
} from '@certwright/service';
import type { DataSource } from 'typeorm';
import type { CaKeys } from './ca-key';
import { KeyFiles } from './key-files';
import { SealedKeys } from './sealed-keys';
import { TokenKeys } from './token-keys';

/** Where the keys of the built-in CA are; spread into the settings of the worker, and read by `admin ca`. */
export const caKeySettings = {
  BUILT_IN_CA_KEYS: oneOf(['files', 'sealed', 'pkcs11'], {
    meaning:
      'Where the private keys of the intermediates are: files in BUILT_IN_CA_DIR, sealed with CA_ACCOUNT_KEYS in the core database, or a PKCS #11 token. The key of the root is never there',
    default: 'files',
  }),
  BUILT_IN_CA_DIR: filePath({
    meaning:
      'Folder of the private keys with BUILT_IN_CA_KEYS=files: intermediate.key, intermediate-2.key; mode 0600, or 0440 in a mounted Secret. Every copy of the worker needs the same files',
    default: 'ca',
  }),
  BUILT_IN_CA_NAME: string({
    meaning: 'Organisation in the subjects of the built-in CA; used by `admin ca`, which creates it',
    pattern: /^[\p{L}\p{N} '.,()+-]{1,48}$/u,
    default: 'Certwright Sandbox',
  }),
  CA_ACCOUNT_KEYS: {
    ...sealingKeys({
      meaning:
        'Keys that seal the keys of our accounts at CAs, the secrets of external account binding, and with BUILT_IN_CA_KEYS=sealed those of the built-in CA; the same for every copy of the worker. Without any, only the built-in CA is used',
    }),
    default: null,
  } satisfies Setting<SealingKeys | null>,
  BUILT_IN_CA_PKCS11_MODULE: filePath<null>({
    meaning: 'The PKCS #11 library of the token, such as /usr/lib/softhsm/libsofthsm2.so; needed with pkcs11',
    default: null,
  }),
  BUILT_IN_CA_PKCS11_TOKEN: string<null>({
    meaning: 'Label of the token; needed with pkcs11',
    pattern: /^[\x20-\x7e]{1,32}$/,
    default: null,
  }),
  BUILT_IN_CA_PKCS11_PIN: secret<null>({
    meaning: 'User PIN of the token; needed with pkcs11. A wrong one is tried once per start',
    default: null,
  }),
  BUILT_IN_CA_PKCS11_KEYS: list(
    string({ meaning: 'A key', pattern: /^(?!id:)[\x20-\x2b\x2d-\x7e]{1,64}$|^id:([0-9a-fA-F]{2}){1,32}$/ }),
    {
      meaning:
        'Keys in the token: the label of each, or id: and its CKA_ID in hexadecimal. Before a renewal, add the label of the new key',
      default: ['certwright-intermediate'],
    },
  ),
  BUILT_IN_CA_PKCS11_PACKAGE: filePath({
    meaning:
      'Folder of the native package pkcs11js, which is loaded with pkcs11 only and is not part of Certwright',
    default: '/opt/certwright-pkcs11/node_modules/pkcs11js',
  }),
};

export type CaKeyValues = SettingValues<typeof caKeySettings>;

/**
 * @param database the core database; used with `sealed` only
 * @throws SettingsError when a setting that belongs to the chosen place is missing
 */
export function caKeysOf(values: CaKeyValues, database: DataSource): CaKeys {
  switch (values.BUILT_IN_CA_KEYS) {
    case 'files':
      return new KeyFiles(values.BUILT_IN_CA_DIR);
    case 'sealed':
      return sealedKeysOf(values, database);
    case 'pkcs11':
      return tokenKeysOf(values);
  }
}

export function sealedKeysOf({ CA_ACCOUNT_KEYS: sealing }: CaKeyValues, database: DataSource): SealedKeys {
  if (sealing !== null) return new SealedKeys(database, sealing);
  throw missing(['CA_ACCOUNT_KEYS (or CA_ACCOUNT_KEYS_FILE)'], 'sealed');
}

function tokenKeysOf(values: CaKeyValues): TokenKeys {
  const module = values.BUILT_IN_CA_PKCS11_MODULE;
  const token = values.BUILT_IN_CA_PKCS11_TOKEN;
  const pin = values.BUILT_IN_CA_PKCS11_PIN;
  if (module === null || token === null || pin === null) {
    const needed = {
      BUILT_IN_CA_PKCS11_MODULE: module,
      BUILT_IN_CA_PKCS11_TOKEN: token,
      'BUILT_IN_CA_PKCS11_PIN (or BUILT_IN_CA_PKCS11_PIN_FILE)': pin,
    };
    throw missing(
      Object.entries(needed).flatMap(([name, value]) => (value === null ? [name] : [])),
      'pkcs11',
    );
  }
  const { BUILT_IN_CA_PKCS11_KEYS: keys, BUILT_IN_CA_PKCS11_PACKAGE: packageFolder } = values;
  return new TokenKeys({ packageFolder, module, token, pin: pin.reveal(), keys });
}

function missing(names: readonly string[], place: CaKeyValues['BUILT_IN_CA_KEYS']): SettingsError {
  return new SettingsError(
    names.map((name) => ({ name, fault: `is missing, and BUILT_IN_CA_KEYS is ${place}` })),
  );
}

/** Path of the root key of a release that kept it beside the intermediate's; null: it is not there. Not opened. */
export function rootKeyBeside({ BUILT_IN_CA_KEYS, BUILT_IN_CA_DIR }: CaKeyValues): string | null {
  const file = path.join(BUILT_IN_CA_DIR, 'root.key');
  return BUILT_IN_CA_KEYS === 'files' && existsSync(file) ? file : null;
}
