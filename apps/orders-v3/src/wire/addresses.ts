/** The path of this API's version, behind the public URL. */
export const apiPath = '/api/v3';

/** Where callers find us. Paths are relative to the host, and so right behind every host name and port that leads here. */
export class Addresses {
  private readonly root: string;

  /** @param publicUrl `https://api.example.com`, without a slash at its end; a path may stand behind the host */
  constructor(private readonly publicUrl: string) {
    this.root = new URL(publicUrl).pathname.replace(/\/$/, '') + apiPath;
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
