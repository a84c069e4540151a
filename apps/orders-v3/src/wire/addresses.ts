/** Where callers find us. */
export interface Addresses {
  /** `https://api.example.com`, without a slash at its end; a path may stand behind the host. */
  readonly publicUrl: string;
  /** The zone that standing approval records point into. */
  readonly approvalZone: string;
}

export const apiPath = '/api/v3';

export function downloadUrl({ publicUrl }: Addresses, token: string): string {
  return `${publicUrl}/download/${token}`;
}

/** Relative to the host, and so right behind every host name and port that leads here. */
export function orderPath(addresses: Addresses, name: string): string {
  return `${ordersPath(addresses)}/${encodeURIComponent(name)}`;
}

export function ordersPath({ publicUrl }: Addresses): string {
  return `${new URL(publicUrl).pathname.replace(/\/$/, '')}${apiPath}/orders`;
}
