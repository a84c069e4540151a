import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger } from '@certwright/service';
import { settings } from '../config';
import { DemoLog } from '../demo-log';

export interface LogResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** The demo log over real HTTP, with a folder that is kept across restarts. */
export class RunningLog {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'demo-log-'));
  /** Log lines of the process. */
  readonly lines: string[] = [];
  /** Added to the clock, ms. */
  clockMs = 0;
  url = '';
  private demo: DemoLog | null = null;

  async start(environment: Readonly<Record<string, string>> = {}): Promise<void> {
    const config = settings.read({
      PORT: '0',
      DATA_DIR: this.folder,
      FIXTURES: '0',
      MERGE_DELAY: '0',
      ...environment,
    });
    const logger = createLogger('demo-log', 'info', { write: (line) => void this.lines.push(line) });
    const demo = new DemoLog(config, logger, () => Date.now() + this.clockMs);
    this.url = await demo.start();
    this.demo = demo;
  }

  async stop(): Promise<void> {
    await this.demo?.stop();
    this.demo = null;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true });
  }

  async request(target: string, init: RequestInit = {}): Promise<LogResponse> {
    const response = await fetch(`${this.url}${target}`, init);
    return {
      status: response.status,
      headers: response.headers,
      bytes: Buffer.from(await response.arrayBuffer()),
    };
  }

  /** The JSON of a 200. */
  async json<T>(target: string): Promise<T> {
    return okJson(target, await this.request(target));
  }

  async submit(target: string, chain: readonly Uint8Array[]): Promise<LogResponse> {
    const body = JSON.stringify({ chain: chain.map((der) => Buffer.from(der).toString('base64')) });
    return await this.request(target, { method: 'POST', body });
  }

  async sct(target: string, chain: readonly Uint8Array[]): Promise<SctJson> {
    return okJson(target, await this.submit(target, chain));
  }
}

export interface SctJson {
  readonly sct_version: number;
  readonly id: string;
  readonly timestamp: number;
  readonly extensions: string;
  readonly signature: string;
}

function okJson<T>(target: string, { status, bytes }: LogResponse): T {
  if (status !== 200) throw new Error(`${target} returned ${status}: ${bytes.toString('utf8')}`);
  return JSON.parse(bytes.toString('utf8')) as T;
}
