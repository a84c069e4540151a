import { Inject, Injectable } from '@nestjs/common';
import { MonitoringConfig } from '../config';

/** The path of this API, behind the public URL. */
export const apiPath = '/api/v3/monitoring';

/** Where clients find resources. Paths are relative to the host: correct for every host name and port that leads here. */
@Injectable()
export class Addresses {
  private readonly root: string;

  constructor(@Inject(MonitoringConfig) { PUBLIC_URL }: Pick<MonitoringConfig, 'PUBLIC_URL'>) {
    this.root = new URL(PUBLIC_URL).pathname.replace(/\/$/, '') + apiPath;
  }

  monitoredDomain(name: string): string {
    return `${this.root}/monitored_domains/${encodeURIComponent(name)}`;
  }

  certificate(digest: string): string {
    return `${this.root}/certificates/${digest}`;
  }

  list(resource: 'known_keys' | 'known_certs' | 'certificates' | 'endpoints'): string {
    return `${this.root}/${resource}`;
  }
}
