import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { orderFolder } from '@certwright/agent-contract';
import { type Child, startChild } from '@certwright/testing';
import { program, python, runAgent } from './python';
import type { Relay } from './falsifying-relay';

export interface Installed {
  /** SHA-256 over the DER certificate, hex. */
  readonly sha256: string;
  readonly leaf: X509Certificate;
  readonly privateKey: KeyObject;
}

/** Reads a pair as a server does, whose link `current` is in `folder`. @returns undefined when nothing is installed */
export function installedIn(folder: string): Installed | undefined {
  const current = path.join(folder, 'current');
  if (!existsSync(current)) return undefined;
  const leaf = new X509Certificate(readFileSync(path.join(current, 'fullchain.pem')));
  const privateKey = createPrivateKey(readFileSync(path.join(current, 'privkey.pem')));
  return { sha256: createHash('sha256').update(leaf.raw).digest('hex'), leaf, privateKey };
}

/** A host with the agent in Python. */
export class PythonHost {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'certwright-second-agent-'));
  private readonly state = path.join(this.folder, 'state');
  private readonly orders = path.join(this.folder, 'orders');
  private running: Child | undefined;
  agentId = '';

  constructor(
    private readonly relay: Pick<Relay, 'url' | 'caFile'>,
    private readonly accepted: readonly string[] = ['example.com', '*.example.com'],
  ) {}

  async enrol(join: string, name = 'python'): Promise<void> {
    const printed = await runAgent(['enrol', ...this.where(), '--name', name], `${join}\n`);
    this.agentId = (JSON.parse(printed) as { agent_id: string }).agent_id;
  }

  /** One round. @throws Error with what it printed */
  async once(): Promise<void> {
    await runAgent(['run', ...this.where(), ...this.installing(), '--once']);
  }

  /** Runs in the background. */
  async start(): Promise<void> {
    this.running = await startChild(python, {
      args: [program, 'run', ...this.where(), ...this.installing()],
    });
  }

  async stop(): Promise<void> {
    this.running?.signal('SIGKILL');
    await this.running?.ended;
    this.running = undefined;
  }

  output = () => this.running?.output() ?? '';

  installed = (order: string): Installed | undefined =>
    installedIn(path.join(this.orders, orderFolder(order)));

  /** PKCS#8 DER of every key that it holds. */
  keys(): Buffer[] {
    const folder = path.join(this.state, 'keys');
    return readdirSync(folder).map((file) => {
      const { pkcs8 } = JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as { pkcs8: string };
      return Buffer.from(pkcs8, 'base64');
    });
  }

  /** Of its identity and sealing key, which the server must never have. */
  ownSecrets(): Buffer[] {
    const text = readFileSync(path.join(this.state, 'agent.json'), 'utf8');
    const { identity, sealing } = JSON.parse(text) as Record<'identity' | 'sealing', string>;
    return [identity, sealing].map((secret) => Buffer.from(secret, 'base64url'));
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private where = () => ['--server', this.relay.url, '--state', this.state, '--ca-file', this.relay.caFile];
  private installing = () => [
    '--install',
    this.orders,
    ...this.accepted.flatMap((name) => ['--accept', name]),
  ];
}
