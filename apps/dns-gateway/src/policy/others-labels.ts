/**
 * Underscored labels that nobody registered and that somebody reads all the same: to send mail, to find a service, to
 * believe that a domain is someone's. A token or a delegation there would give its writer just that. An asterisk stands
 * for anything; a label matches wherever it stands in the name. Underscores are left out.
 */
export const othersLabels: readonly string[] = [
  // Mail: SMTP TLS reporting (RFC 8460: `_smtp._tls`), BIMI, senders' own verification and SPF includes.
  ...['tls', 'smtp*', 'bimi', 'amazonses', 'mailchannels', 'mail*', 'adsp', 'report', 'dkim*', 'dmarc*'],
  ...['spf*', 'mta*', 'netblocks*', 'arc', 'dane*', 'tlsrpt*'],
  // Proofs of ownership at services that host content or identities.
  ...['*verif*', '*ownership*', '*confirm*', '*domain*', '*pages*', '*-dcv*', '*site*', 'asuid*', 'psl'],
  ...['apple*', 'atlassian*', 'atproto*', 'aws*', 'azure*', 'cf-*', 'cloudflare*', 'discord*', 'dropbox*'],
  ...['facebook*', 'fastly*', 'firebase*', 'github*', 'gitlab*', 'google*', 'heroku*', 'hubspot*'],
  ...['keybase*', 'meta-*', 'microsoft*', 'netlify*', 'notion*', 'openai*', 'render*', 'shopify*', 'slack*'],
  ...['stripe*', 'twilio*', 'vercel*', 'webflow*', 'zendesk*', 'zoho*', 'zoom*'],
  // Where software looks a service or a key up.
  ...['kerberos*', 'msdcs', 'sites', 'vlmcs', 'autodiscover', 'autoconfig*', 'sipfederationtls', 'matrix*'],
  ...[
    'xmppconnect',
    'xmpp-*',
    'minecraft',
    'dns-sd',
    'dnssd',
    'services',
    'dnslink*',
    'wpad',
    'ntp',
    'stun*',
  ],
  ...['turn*', 'dsync', 'dsboot', 'oidc*', 'saml*', 'did', 'agent*', 'agents', 'mcp', 'a2a', 'nostr*'],
  ...['bitcoin*', '*payment*', 'lightning*', 'ens', 'pgp*', 'whois', 'rdap*', 'rvp', 'tor'],
];
