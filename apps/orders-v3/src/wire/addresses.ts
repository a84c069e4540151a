import { Inject, Injectable } from '@nestjs/common';
import { OrdersConfig } from '../config';

/** The path of this API's version, behind the public URL. */
export const apiPath = '/api/v3';

/** Where clients find resources. Paths are relative to the host: correct for every host name and port that leads here. */
@Injectable()
export class Addresses {
  private readonly publicUrl: string;
  private readonly root: string;

  constructor(@Inject(OrdersConfig) { PUBLIC_URL }: Pick<OrdersConfig, 'PUBLIC_URL'>) {
    this.publicUrl = PUBLIC_URL;
    this.root = new URL(PUBLIC_URL).pathname.replace(/\/$/, '') + apiPath;
  }

  get orders(): string {
    return `${this.root}/orders`;
  }

  order(name: string): string {
    return `${this.orders}/${encodeURIComponent(name)}`;
  }

  certificates(orderName: string): string {
    return `${this.order(orderName)}/certs`;
  }

  get clusters(): string {
    return `${this.root}/clusters`;
  }

  cluster(name: string): string {
    return `${this.clusters}/${encodeURIComponent(name)}`;
  }

  enrolments(clusterName: string): string {
    return `${this.cluster(clusterName)}/enrolments`;
  }

  agents(clusterName: string): string {
    return `${this.cluster(clusterName)}/agents`;
  }

  webhook(id: string): string {
    return `${this.root}/account/webhooks/${id}`;
  }

  deliveries(webhookId: string): string {
    return `${this.webhook(webhookId)}/deliveries`;
  }

  delivery(webhookId: string, id: string): string {
    return `${this.deliveries(webhookId)}/${id}`;
  }

  dnsIntegration(id: string): string {
    return `${this.root}/account/dns_integrations/${id}`;
  }

  /** Absolute: people copy it into a configuration. */
  download(token: string): string {
    return `${this.publicUrl}/download/${token}`;
  }
}
