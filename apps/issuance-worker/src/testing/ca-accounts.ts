import { randomBytes } from 'node:crypto';
import { CaAccounts } from '../certificate-authorities/ca-accounts';
import { CertificateAuthorities } from '../certificate-authorities/certificate-authorities';
import type { CoreDatabaseFixture } from '@certwright/core-testing';

/** A CA of this name with a valid account. @returns the account's id */
export async function caAccount({ database }: CoreDatabaseFixture, authority: string): Promise<string> {
  const directoryUrl = `https://${authority}.example/directory`;
  await new CertificateAuthorities(database).create({ name: authority, directoryUrl });
  const accounts = new CaAccounts(database);
  const { id } = await accounts.begin(authority, randomBytes(8));
  await accounts.opened(id, `https://${authority}.example/account/1`);
  return id;
}
