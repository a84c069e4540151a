import { rm, writeFile } from 'node:fs/promises';
import { DnsServer, type Answered } from '@certwright/dns-authority';
import { type DemoDnsConfig } from './config';
import { ControlServer } from './control-server';
import { DataFile } from './data-file';
import { DemoZones } from './demo-zones';
import { type JsonLog } from './json-log';

/** The ports in use; they differ from configured ones that are 0. */
export interface DemoDnsPorts {
  readonly dns: number;
  readonly control: number;
}

/**
 * Authoritative DNS for the demo's zones, and the platform's resolver for them: it follows CNAMEs through all of
 * them. It resolves nothing else, so RA is never set and other names are REFUSED. A stub resolver that requires RA
 * needs another server too.
 */
export class DemoDns {
  #dns: DnsServer | undefined;
  #control: ControlServer | undefined;
  /** Until this process has its ports, the file may belong to another process. */
  #ownsPidFile = false;

  constructor(
    private readonly config: DemoDnsConfig,
    private readonly log: JsonLog,
  ) {}

  /** @throws ConfigFault for an unusable data file, or the system's error for a port; closes everything before. */
  async start(): Promise<DemoDnsPorts> {
    const { config, log } = this;
    const file = config.dataFile === undefined ? undefined : new DataFile(config.dataFile);
    const stored = (await file?.read()) ?? new Map();
    const zones = new DemoZones(config.zones, config.dnsHost, stored, async (current) => file?.save(current));
    this.#dns = new DnsServer({
      host: config.dnsHost,
      port: config.dnsPort,
      source: zones.zones,
      updates: zones.zones,
      ...(config.tsigKey && { tsigKeys: [config.tsigKey] }),
      onAnswered: (answered) => this.#logAnswer(answered),
      onError: (error) => log.error('dns socket failed', { error: error.message }),
    });
    this.#control = new ControlServer(zones, log);
    try {
      const { port: dns } = await this.#dns.listen();
      const control = await this.#control.listen(config.controlHost, config.controlPort);
      if (config.pidFile !== undefined) {
        this.#ownsPidFile = true;
        await writeFile(config.pidFile, `${process.pid}\n`);
      }
      log.info('listening', {
        dns: `${config.dnsHost}:${dns}`,
        control: `http://${config.controlHost}:${control}`,
        zones: config.zones.join(','),
      });
      return { dns, control };
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Finishes running requests and closes. */
  async stop(): Promise<void> {
    await Promise.all([this.#control?.close(), this.#dns?.close()]);
    if (this.#ownsPidFile && this.config.pidFile !== undefined)
      await rm(this.config.pidFile, { force: true });
    this.log.info('stopped');
  }

  #logAnswer({ peer, opcode, question, rcode, bytes, error }: Answered): void {
    if (error !== undefined) {
      this.log.error('dns response failed', {
        name: question?.name,
        type: question?.type,
        error: String(error),
      });
    }
    if (!this.log.isOn('debug')) return;
    this.log.debug('dns', {
      from: `${peer.address}:${peer.port}/${peer.transport}`,
      opcode,
      name: question?.name,
      type: question?.type,
      rcode,
      bytes,
    });
  }
}
