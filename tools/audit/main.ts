/** The gateway's own verification, because reader and writer of the log must agree on every byte. */
import '../../apps/dns-gateway/src/audit/verify';
