// @ts-check
// Certificates that no CA should issue, through the whole path: index, finding, API, webhook, mail, page of the search API.
import { until } from '../until.mjs';
import { Ca } from './certificates.mjs';

const MAX_BODY_BYTES = 512 * 1024;
const MAX_ENDPOINTS = 100;
const WITHIN_MS = 60_000;

const HTML = '</pre><script>alert(1)</script><img src=x onerror=alert(2)>"\'&';
/** Overrides and isolates of the direction of text. */
const BIDI = '\u202e\u2066\u200f';
const FORBIDDEN = /<script>alert|<img src=x|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** @param {number} length @param {(nth: number) => string} name */
const many = (length, name) => Array.from({ length }, (_, nth) => name(nth));

/** @type {Record<string, { names: (domain: string) => string[], isTruncated: boolean, isUnreadable?: boolean }>} */
const shapes = {
  'markup and bidi in every field': {
    names: (domain) => [
      `www.${domain}`,
      `${HTML}${BIDI}, evil.${domain} x`,
      `a\r\nBcc: x@example.net.${domain}`,
    ],
    isTruncated: false,
  },
  '10,000 names': {
    names: (domain) => many(10_000, (nth) => `n${nth}.${domain}`),
    isTruncated: true,
  },
  '900 kB of odd names': {
    names: (domain) => many(15_000, (nth) => `${BIDI}${HTML.slice(0, 30)} ${nth},n${nth}.${domain}`),
    isTruncated: true,
  },
  'an odd name of 900 kB': {
    names: (domain) => [`${'<b> x '.repeat(75_000)}www.${domain}${` ${BIDI}`.repeat(45_000)}`],
    isTruncated: true,
  },
  // Only the beginning of an entry over 1 MiB is stored. It is found there, and is identified by its bytes.
  '1.2 MB with a name at the beginning': {
    names: (domain) => [`www.${domain}`, `${BIDI}${HTML}`.repeat(15_000)],
    isTruncated: false,
    isUnreadable: true,
  },
};

/** @param {import('./run.mjs').Run} all @returns {Promise<string[]>} problems */
export async function oddCertificates({ platform, tenants, stream, say }) {
  const ca = new Ca(`${HTML}${BIDI}`);
  /** @type {string[]} */
  const problems = [];
  for (const [nth, [what, { names, isTruncated, isUnreadable = false }]] of Object.entries(
    shapes,
  ).entries()) {
    const domain = stream.domain(`odd${nth}`);
    const tenant = await tenants.add(what, [`.${domain}`]);
    const certificate = ca.issue(names(domain), { subject: `${HTML}${BIDI}` });
    const begunMs = Date.now();
    await tenants.log(certificate, { unknownTo: isUnreadable ? [] : [tenant] });
    const problem = (/** @type {string} */ text) => problems.push(`${what}: ${text}`);
    const delivery = await until(() => tenant.eventsOf('monitoring.unknown_certificate')[0], {
      what: 'the alert',
      withinMs: WITHIN_MS,
    }).catch(() => undefined);
    if (delivery === undefined) {
      problem('no alert');
      continue;
    }
    const { body, bytes } = delivery;
    const digest = body.issuance?.tbs_sha256 ?? body.tbs_sha256;
    if (isUnreadable) tenant.unknown.set(digest, begunMs);
    const seconds = ((Date.now() - begunMs) / 1_000).toFixed(1);
    if (bytes > MAX_BODY_BYTES) problem(`the webhook has ${bytes} bytes`);
    if ((body.truncated === true) !== isTruncated) problem(`truncated is ${body.truncated}`);
    if (body.endpoints.length < 1 || body.endpoints.length > MAX_ENDPOINTS)
      problem(`${body.endpoints.length} endpoints`);
    for (const copy of platform.fronts.keys()) {
      const listed = (await tenant.certificates(copy)).find(({ tbs_sha256 }) => tbs_sha256 === digest);
      if (listed?.state !== 'unknown' || listed.endpoints.length !== body.endpoints.length)
        problem(`the list has ${JSON.stringify(listed)?.slice(0, 200)}`);
    }
    const mail = await until(async () => await mailAbout(platform, domain), {
      what: 'the mail',
      withinMs: WITHIN_MS,
    }).catch(() => undefined);
    if (mail === undefined) problem('no mail');
    for (const text of [mail?.subject, mail?.text, mail?.html?.replaceAll(/<style>[^]*?<\/style>/g, '')])
      if (typeof text === 'string' && isHarmful(text)) problem(`the mail has ${excerpt(text)}`);
    if (mail !== undefined && JSON.stringify(mail.headers ?? {}).includes('x@example.net'))
      problem('a name became a header of the mail');
    const html = isUnreadable ? '' : await pageOf(body.html_url, problem);
    say(
      `  ${what}: ${certificate.bytes} bytes, alert of ${bytes} bytes after ${seconds} s, ` +
        `mail of ${mail?.text?.length} and page of ${html.length} characters`,
    );
  }
  return [...problems, ...(await tenants.problems())];
}

/**
 * @param {string} url
 * @param {(text: string) => void} problem
 */
async function pageOf(url, problem) {
  const page = await fetch(url, { headers: { accept: 'text/html' } });
  const html = await page.text();
  if (page.status !== 200) problem(`the page returned ${page.status}`);
  if (FORBIDDEN.test(html)) problem(`the page has ${excerpt(html)}`);
  return html;
}

/** In plain text, markup does no harm. @param {string} text */
function isHarmful(text) {
  const isHtml = /<html|<body|<!doctype/i.test(text);
  return isHtml ? FORBIDDEN.test(text) : /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(text);
}

/** @param {string} text */
function excerpt(text) {
  const at = text.search(FORBIDDEN);
  return JSON.stringify(text.slice(Math.max(0, at - 40), at + 60));
}

/**
 * @param {import('./platform.mjs').MonitoringPlatform} platform
 * @param {string} domain
 * @returns {Promise<any>}
 */
async function mailAbout(platform, domain) {
  /** @type {any} */
  const mails = await (await fetch(`${platform.process('mailbox').url}/api/email`)).json();
  return mails.find(
    (/** @type {any} */ { subject, text }) =>
      `${subject} ${text}`.includes(domain) && /unknown/i.test(`${subject} ${text}`),
  );
}
