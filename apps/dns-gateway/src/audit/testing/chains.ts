import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type AuditIntent, type ChainHead, chainStart } from '../audit-entry';
import { AuditLog, type AuditLogOptions } from '../audit-log';
import { ChainCheck } from '../chain-check';

export const anIntent: AuditIntent = {
  requestId: 'req-1',
  client: 'issuance-worker',
  account: '81234567890123',
  integrationId: 'int-1',
  provider: 'cloudflare',
  action: 'add',
  zone: 'example.com',
  fqdn: '_acme-challenge.example.com',
  type: 'TXT',
  value: 'LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ',
  ttlS: 60,
  decision: 'allowed',
  reason: null,
};

const folders: string[] = [];

export function auditFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'certwright-audit-'));
  folders.push(folder);
  return path.join(folder, 'audit');
}

export function removeAuditFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export const openLog = async (folder: string, options: Partial<AuditLogOptions> = {}) =>
  await AuditLog.open({
    folder,
    instance: 'gateway-1',
    now: () => new Date('2026-11-20T12:00:00Z'),
    ...options,
  });

export interface ChainFile {
  readonly name: string;
  readonly bytes: Buffer;
}

export function chainFiles(folder: string, instance = 'gateway-1'): readonly ChainFile[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith(`${instance}.`) && name.endsWith('.jsonl'))
    .sort()
    .map((name) => ({ name, bytes: readFileSync(path.join(folder, name)) }));
}

/** Checks all files: null, or `file:line: reason`. @param kept a head that was kept elsewhere */
export function breakOf(
  files: readonly ChainFile[],
  kept: ChainHead | null = null,
  check = new ChainCheck(chainStart, kept),
): string | null {
  for (const { name, bytes } of files) {
    const broken = check.take(name, bytes);
    if (broken !== null) return `${broken.file}:${broken.line}: ${broken.reason}`;
  }
  const broken = check.finish();
  return broken === null ? null : `${broken.file}:${broken.line}: ${broken.reason}`;
}

export function summaryOf(files: readonly ChainFile[]) {
  const check = new ChainCheck();
  expect(breakOf(files, null, check)).toBeNull();
  return check.summary();
}
