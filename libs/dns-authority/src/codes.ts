// Numbers of the IANA "Domain Name System (DNS) Parameters" registry.

export const OPCODE = { QUERY: 0, UPDATE: 5 } as const;

export const CLASS = { IN: 1, NONE: 254, ANY: 255 } as const;

/** RFC 1035 section 4.1.1, RFC 2136 section 2.2, RFC 6891 section 9 (BADVERS needs the OPT record's upper bits). */
export const RCODE = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  YXDOMAIN: 6,
  YXRRSET: 7,
  NXRRSET: 8,
  NOTAUTH: 9,
  NOTZONE: 10,
  BADVERS: 16,
} as const;
export type Rcode = (typeof RCODE)[keyof typeof RCODE];

/** The record types that zones support. */
export const STORED_TYPE = { A: 1, NS: 2, CNAME: 5, SOA: 6, TXT: 16, AAAA: 28, CAA: 257 } as const;
export type StoredType = keyof typeof STORED_TYPE;

const STORED_TYPE_NAMES: ReadonlyMap<number, StoredType> = new Map(
  (Object.keys(STORED_TYPE) as StoredType[]).map((name) => [STORED_TYPE[name], name]),
);

/** `undefined` for an unsupported type. */
export function storedTypeOf(type: number): StoredType | undefined {
  return STORED_TYPE_NAMES.get(type);
}

export const QTYPE = { OPT: 41, DS: 43, TSIG: 250, IXFR: 251, AXFR: 252, ANY: 255 } as const;

/** OPT, and 128–255: types of questions and of messages, never of data (RFC 6895 section 3.1). */
export function isMetaType(type: number): boolean {
  return type === QTYPE.OPT || (type >= 128 && type <= 255);
}

/** RFC 8945 section 3: values of the TSIG record's error field, above those of the header. */
export const TSIG_ERROR = { BADSIG: 16, BADKEY: 17, BADTIME: 18, BADTRUNC: 22 } as const;
export type TsigError = keyof typeof TSIG_ERROR;

const TSIG_ERROR_NAMES: ReadonlyMap<number, TsigError> = new Map(
  (Object.keys(TSIG_ERROR) as TsigError[]).map((name) => [TSIG_ERROR[name], name]),
);

/** `undefined` for 0 and for numbers that RFC 8945 does not define. */
export function tsigErrorOf(value: number): TsigError | undefined {
  return TSIG_ERROR_NAMES.get(value);
}
