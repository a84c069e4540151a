import { AcmeFault, chooseChain, type DownloadedChain, isPassing, printable, renewalIdOf } from '../../acme';
import type { IssuedChain } from '../certificate-authority';
import type { AcmeSession } from './acme-accounts';
import { completeChain, rootsOf, shortenedChain } from './roots';

export type DownloadedCertificate =
  | { readonly kind: 'issued'; readonly issued: IssuedChain }
  /** The chain leads to no known root. */
  | { readonly kind: 'rootless'; readonly topmost: string };

/** Max alternate chains; CAs offer a few. */
const maxAlternates = 5;
/** RFC 5280, appendix A: ub-common-name; CAs may send longer or unprintable names. */
const maxNameLength = 64;

/**
 * Downloads the certificate with the operator's preferred chain, completed by its root; with another one if that leads
 * to no known root. If none does, the part below a known root.
 *
 * @param beforeExchange called before each request
 * @param isLate the order has failed before: the first chain is used rather than waiting for a preferred one
 * @throws AcmeFault
 */
export async function downloadChain(
  session: AcmeSession,
  certificateUrl: string,
  beforeExchange: () => Promise<void>,
  isLate: boolean,
): Promise<DownloadedCertificate> {
  const { account, authority, server } = session;
  const { preferredRoot, trustedRoots } = authority;
  const roots = rootsOf(trustedRoots);
  await beforeExchange();
  const first = await account.certificate(certificateUrl);
  const isComplete = completeChain(first, roots) !== null;
  const isEnough = preferredRoot === null && isComplete;
  const mayLack = isLate && isComplete;
  const others = isEnough ? [] : await alternates(session, first, beforeExchange, mayLack);
  const preferred = preferredRoot === null ? null : { commonName: preferredRoot };
  const chosen = chooseChain([first, ...others], preferred, roots);
  const chains = [chosen, first, ...others];
  const complete = [completeChain, shortenedChain]
    .flatMap((completed) => chains.map((chain) => completed(chain, roots)))
    .find((completed) => completed !== null);
  if (complete === undefined) return { kind: 'rootless', topmost: nameOfIssuer(first) };
  const ariId = renewalIdOf(first.leaf);
  const hasRenewalInfo = ariId !== null && (await server.directory()).renewalInfo !== null;
  const issued: IssuedChain = {
    leaf: first.leaf.der,
    chain: complete.chain.map(({ der }) => der),
    root: complete.root.der,
    ...(hasRenewalInfo ? { renewalInfo: { authority: authority.name, ariId } } : {}),
  };
  return { kind: 'issued', issued };
}

/** Alternate chains for the same leaf; others are ignored. */
async function alternates(
  { account }: AcmeSession,
  first: DownloadedChain,
  beforeExchange: () => Promise<void>,
  mayLack: boolean,
): Promise<readonly DownloadedChain[]> {
  const read: DownloadedChain[] = [];
  for (const url of first.alternateUrls.slice(0, maxAlternates)) {
    await beforeExchange();
    const chain = await usable(account.certificate(url), mayLack);
    if (chain?.leaf.sha256 === first.leaf.sha256) read.push(chain);
  }
  return read;
}

/**
 * Ignores an alternate chain that is unusable or refused, since the first chain exists.
 *
 * @param mayLack ignores it also after an error that passes
 * @throws AcmeFault of an error that passes
 */
async function usable(download: Promise<DownloadedChain>, mayLack: boolean): Promise<DownloadedChain | null> {
  try {
    return await download;
  } catch (error) {
    if (!(error instanceof AcmeFault)) throw error;
    if (mayLack || (!isPassing(error) && error.kind !== 'rate_limited')) return null;
    throw error;
  }
}

function nameOfIssuer({ leaf, issuers }: DownloadedChain): string {
  const name = printable((issuers.at(-1) ?? leaf).issuer.commonNames[0] ?? '', maxNameLength);
  return name === '' ? 'a nameless issuer' : name;
}
