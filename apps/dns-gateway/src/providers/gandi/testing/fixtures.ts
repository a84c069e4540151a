import type { ApiReply } from '../../testing/api-server';

/** Bodies from https://api.gandi.net/docs/livedns/ and from the API itself. */
export interface Rrset {
  readonly rrset_name: string;
  readonly rrset_type: string;
  readonly rrset_ttl: number;
  readonly rrset_values: readonly string[];
  readonly rrset_href: string;
}

export const rrset = (
  domain: string,
  name: string,
  type: string,
  values: readonly string[],
  ttl: number,
): Rrset => ({
  rrset_name: name,
  rrset_type: type,
  rrset_ttl: ttl,
  rrset_values: values,
  rrset_href: `https://api.gandi.net/v5/livedns/domains/${domain}/records/${name}/${type}`,
});

export const domain = (fqdn: string): object => ({
  fqdn,
  domain_href: `https://api.gandi.net/v5/livedns/domains/${fqdn}`,
  domain_records_href: `https://api.gandi.net/v5/livedns/domains/${fqdn}/records`,
});

export const forbidden: ApiReply = {
  status: 403,
  body: {
    cause: 'Forbidden',
    code: 403,
    message: 'The server could not verify that you authorized to access the document you requested.',
    object: 'HTTPForbidden',
  },
};

export const notFound: ApiReply = {
  status: 404,
  body: {
    cause: 'Not Found',
    code: 404,
    message: 'The resource could not be found.',
    object: 'HTTPNotFound',
  },
};

export const created: ApiReply = { status: 201, body: { message: 'DNS Record Created' } };

export const invalid = (member: string, description: string): ApiReply => ({
  status: 400,
  body: { status: 'error', errors: [{ location: 'body', name: member, description }] },
});

export const cnameBeside: ApiReply = {
  status: 409,
  body: {
    cause: 'Conflict',
    code: 409,
    message: 'A CNAME record cannot coexist with other records.',
    object: 'HTTPConflict',
  },
};
