import { OutboundFault } from '../outbound-fault';
import { portRefusal } from './blocked-ports';

/** The parts of a URL; nothing has been looked up. */
export interface Target {
  readonly secure: boolean;
  /** As in the URL, in lower case, an IPv6 address in brackets. */
  readonly hostname: string;
  readonly port: number;
  /** For the Host header: with the port unless it is the scheme's default. */
  readonly host: string;
  readonly path: string;
  /** Basic authentication from the URL's user and password. */
  readonly authorization: string | null;
}

/** Most servers refuse request lines over 8 kB; webhooks and rules need much less. */
const maxUrlLength = 2_048;

/** @throws OutboundFault `bad_url` */
export function targetOf(text: string, allowedPorts?: readonly number[]): Target {
  if (text.length > maxUrlLength) {
    throw new OutboundFault('bad_url', `The URL is longer than ${maxUrlLength} characters.`);
  }
  if (!URL.canParse(text)) throw new OutboundFault('bad_url', 'The URL is not valid.');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new OutboundFault('bad_url', 'The URL begins with neither http:// nor https://.');
  }
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const refusal =
    port === 0 || allowedPorts === undefined ? portRefusal(port) : refusalBeyond(allowedPorts, port);
  if (refusal !== null) throw new OutboundFault('bad_url', refusal);
  return {
    secure,
    hostname: url.hostname,
    port,
    host: url.host,
    path: url.pathname + url.search,
    authorization: url.username === '' && url.password === '' ? null : basic(url),
  };
}

const refusalBeyond = (allowedPorts: readonly number[], port: number): string | null =>
  allowedPorts.includes(port) ? null : `Port ${port} is not one of ${allowedPorts.join(', ')}.`;

/** RFC 7617. */
function basic({ username, password }: URL): string {
  const text = `${percentDecoded(username)}:${percentDecoded(password)}`;
  return `Basic ${Buffer.from(text, 'utf8').toString('base64')}`;
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A % that is not an encoding is kept.
    return text;
  }
}
