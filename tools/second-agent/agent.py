#!/usr/bin/env python3
"""A second agent, written from docs/agent-protocol.md alone: it proves that the document is complete.

  agent.py enrol --server URL --state DIR --name HOST [--ca-file FILE] < join-string
  agent.py run   --server URL --state DIR --install DIR --accept NAME [--accept '*.PARENT'] [--ca-file FILE] [--once]
  agent.py vectors        prints the values of "Test vectors"
  agent.py seal | open    one sealed key as JSON, from standard input to standard output

Needs python3-cryptography of Debian 12 or newer. It installs to folders only, and reloads no server.
"""

import argparse
import base64
import datetime
import email.utils
import hashlib
import hmac
import http.client
import json
import os
import random
import re
import ssl
import struct
import sys
import time
import urllib.parse

from cryptography import x509
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)

VERSION = "second-agent 1"
BASE = "/api/v3/agent"
MAX_RESPONSE_BYTES = 1024 * 1024
MAX_SILENCE_S = 15
MAX_CHAIN = 20
MAX_CERTIFICATE_BYTES = 64 * 1024
MAX_PKCS8_BYTES = 4096
WAIT_S = 50


# What the wrong type or a missing member in a message leads to.
MALFORMED = (KeyError, TypeError, AttributeError, ValueError, IndexError)


class Refused(Exception):
    """Something that the protocol does not allow, or that this agent must not use."""


class ServerError(Exception):
    def __init__(self, status, code, message, retry_after=None):
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.retry_after = retry_after


# Encodings


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_b64url(text, length=None):
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise Refused("not base64url")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise Refused("not base64url") from None
    if b64url(data) != text or (length is not None and len(data) != length):
        raise Refused("not canonical base64url of the right length")
    return data


def from_b64(text, max_bytes):
    if not isinstance(text, str) or len(text) > 4 * (max_bytes // 3 + 1):
        raise Refused("not base64, or too long")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise Refused("not base64") from None
    if base64.b64encode(data).decode() != text or not data:
        raise Refused("not canonical base64")
    return data


def is_hash(text):
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) is not None


def sha256_hex(data):
    return hashlib.sha256(data).hexdigest()


def lp(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def without_repeated(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise Refused("JSON with a repeated member")
    return dict(pairs)


def read_json(body):
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=without_repeated)
    except (ValueError, RecursionError):
        raise Refused("the response is not JSON in UTF-8") from None
    if not isinstance(value, dict):
        raise Refused("the response is not an object")
    return value


def folder_of(name):
    encoded = "".join(
        chr(byte) if re.match(rb"[a-z0-9_.-]", bytes([byte])) and not (index == 0 and byte == 0x2E) else f"%{byte:02X}"
        for index, byte in enumerate(name.encode())
    )
    return encoded if len(encoded) <= 200 else f"%sha256-{sha256_hex(name.encode())}"


# Keys


def raw_public(private_key):
    return private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def raw_private(private_key):
    return private_key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())


def pkcs8_of(key):
    return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def spki_hash(public_key):
    return sha256_hex(public_key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def agent_id(identity_key):
    return b64url(hashlib.sha256(identity_key).digest()[:16])


def verify_ed25519(public_key, signature, data, what):
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, data)
    except InvalidSignature:
        raise Refused(f"the signature of {what} is wrong") from None


# Signatures of requests


def sign_request(method, path, query, body, identity, created):
    digest = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    params = (
        '("@method" "@path" "@query" "content-digest")'
        f';created={created};keyid="{agent_id(raw_public(identity))}";tag="certwright-agent"'
    )
    base = "\n".join(
        [
            f'"@method": {method}',
            f'"@path": {path}',
            f'"@query": {query or "?"}',
            f'"content-digest": {digest}',
            f'"@signature-params": {params}',
        ]
    )
    signature = base64.b64encode(identity.sign(base.encode())).decode()
    headers = {
        "Content-Digest": digest,
        "Signature-Input": f"sig1={params}",
        "Signature": f"sig1=:{signature}:",
    }
    return headers, base


# Statements

STATEMENT_HEADER = b64url(b'{"alg":"EdDSA","typ":"certwright-member+jws"}')


def make_statement(cluster_key, identity_key, sealing_key, at):
    payload = json.dumps(
        {
            "cluster_key_sha256": sha256_hex(raw_public(cluster_key)),
            "identity_key": b64url(identity_key),
            "sealing_key": b64url(sealing_key),
            "time": at,
        },
        separators=(",", ":"),
    )
    signed = f"{STATEMENT_HEADER}.{b64url(payload.encode())}"
    return f"{signed}.{b64url(cluster_key.sign(signed.encode()))}"


def read_statement(text, cluster_public_key):
    """Returns identity key, sealing key and time."""
    parts = text.split(".") if isinstance(text, str) and len(text) <= 1024 else []
    if len(parts) != 3 or parts[0] != STATEMENT_HEADER:
        raise Refused("the statement has another form")
    signed = f"{parts[0]}.{parts[1]}".encode("ascii", "replace")
    verify_ed25519(cluster_public_key, from_b64url(parts[2], 64), signed, "the statement")
    match = re.fullmatch(
        r'\{"cluster_key_sha256":"([0-9a-f]{64})","identity_key":"([\w-]{43})","sealing_key":"([\w-]{43})"'
        r',"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"\}',
        from_b64url(parts[1]).decode("latin-1"),
        re.ASCII,
    )
    if match is None or match[1] != sha256_hex(cluster_public_key):
        raise Refused("the statement is about another cluster, or has another form")
    return from_b64url(match[2], 32), from_b64url(match[3], 32), match[4]


# HPKE (RFC 9180), base mode, X25519, HKDF-SHA256, ChaCha20Poly1305

KEM = b"KEM" + struct.pack(">H", 0x20)
SUITE = b"HPKE" + struct.pack(">HHH", 0x20, 1, 3)


def labeled_extract(suite, salt, label, key_material):
    return hmac.new(salt, b"HPKE-v1" + suite + label + key_material, "sha256").digest()


def labeled_expand(suite, key, label, info, length):
    labeled = struct.pack(">H", length) + b"HPKE-v1" + suite + label + info
    return hmac.new(key, labeled + b"\x01", "sha256").digest()[:length]


def hpke_cipher(shared, enc, receiver, info):
    secret = labeled_expand(KEM, labeled_extract(KEM, b"", b"eae_prk", shared), b"shared_secret", enc + receiver, 32)
    context = (
        b"\x00" + labeled_extract(SUITE, b"", b"psk_id_hash", b"") + labeled_extract(SUITE, b"", b"info_hash", info)
    )
    schedule = labeled_extract(SUITE, secret, b"secret", b"")
    key = labeled_expand(SUITE, schedule, b"key", context, 32)
    return ChaCha20Poly1305(key), labeled_expand(SUITE, schedule, b"base_nonce", context, 12)


def hpke_seal(receiver, info, plaintext, ephemeral=None):
    ephemeral = ephemeral or X25519PrivateKey.generate()
    enc = raw_public(ephemeral)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(receiver))
    cipher, nonce = hpke_cipher(shared, enc, receiver, info)
    return enc, cipher.encrypt(nonce, plaintext, b"")


def check_sealing_key(receiver):
    try:
        hpke_seal(receiver, b"", b"")
    except ValueError:
        raise Refused("its sealing key is a point of small order") from None


def hpke_open(sealing, info, enc, ciphertext):
    try:
        shared = sealing.exchange(X25519PublicKey.from_public_bytes(enc))
        cipher, nonce = hpke_cipher(shared, enc, raw_public(sealing), info)
        return cipher.decrypt(nonce, ciphertext, b"")
    except (InvalidTag, ValueError):
        raise Refused("the key is not sealed for this agent, order and hash") from None


# Sealed keys


def key_info(cluster, order, spki, sender, receiver):
    return b"".join(map(lp, ["certwright-sealed-key-v1", cluster, order, spki, sender, receiver]))


def signed_key_bytes(info, enc, ciphertext):
    return b"".join(map(lp, ["certwright-sealed-key-signature-v1", info, enc, ciphertext]))


def seal_key(pkcs8, cluster, order, spki, identity, receiver_id, receiver_sealing_key, ephemeral=None):
    sender = agent_id(raw_public(identity))
    info = key_info(cluster, order, spki, sender, receiver_id)
    enc, ciphertext = hpke_seal(receiver_sealing_key, info, pkcs8, ephemeral)
    return {
        "sender": sender,
        "receiver": receiver_id,
        "enc": b64url(enc),
        "ciphertext": b64url(ciphertext),
        "signature": b64url(identity.sign(signed_key_bytes(info, enc, ciphertext))),
    }


def open_key(sealed, cluster, order, spki, own_id, sealing, sender_identity_key):
    sender = agent_id(sender_identity_key)
    if sealed.get("receiver") != own_id or sealed.get("sender") != sender:
        raise Refused("the key is sealed by or for another agent")
    enc, signature = from_b64url(sealed["enc"], 32), from_b64url(sealed["signature"], 64)
    ciphertext = from_b64url(sealed["ciphertext"])
    info = key_info(cluster, order, spki, sender, own_id)
    verify_ed25519(sender_identity_key, signature, signed_key_bytes(info, enc, ciphertext), "the sealed key")
    return check_key(hpke_open(sealing, info, enc, ciphertext), spki)


def check_key(pkcs8, spki):
    if len(pkcs8) > MAX_PKCS8_BYTES:
        raise Refused("the private key is too large")
    try:
        key = load_der_private_key(pkcs8, None)
    except (ValueError, TypeError):
        raise Refused("the private key is not PKCS#8") from None
    is_rsa = isinstance(key, rsa.RSAPrivateKey) and key.key_size in (2048, 3072, 4096)
    is_ec = isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in ("secp256r1", "secp384r1")
    if not (is_rsa or is_ec) or spki_hash(key.public_key()) != spki:
        raise Refused("the private key is another one, or of a kind that is not accepted")
    probe = b"both halves belong together"
    try:
        if is_rsa:
            signature = key.sign(probe, padding.PKCS1v15(), hashes.SHA256())
            key.public_key().verify(signature, probe, padding.PKCS1v15(), hashes.SHA256())
        else:
            key.public_key().verify(key.sign(probe, ec.ECDSA(hashes.SHA256())), probe, ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError):
        raise Refused("the halves of the private key do not belong together") from None
    return pkcs8_of(key)


# Certificates


def check_certificate(message, expected_sha256, spki, accepted, now):
    """Returns the PEM of leaf and chain."""
    chain = message.get("chain")
    if not isinstance(chain, list) or len(chain) > MAX_CHAIN:
        raise Refused("the chain is not a list, or too long")
    ders = [from_b64(text, MAX_CERTIFICATE_BYTES) for text in [message.get("leaf"), *chain, message.get("root")]]
    if sha256_hex(ders[0]) != expected_sha256:
        raise Refused("the certificate is another one")
    try:
        certificates = [x509.load_der_x509_certificate(der) for der in ders]
        names = certificates[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        dns_names = names.get_values_for_type(x509.DNSName)
    except (ValueError, x509.ExtensionNotFound):
        raise Refused("a certificate cannot be read, or has no names") from None
    if spki_hash(certificates[0].public_key()) != spki:
        raise Refused("the certificate is for another key")
    if len(dns_names) != len(list(names)) or not all(accepts(accepted, name) for name in dns_names):
        raise Refused("the certificate has names that this host does not accept")
    path = certificates[:-1] if ders[-1:] == ders[-2:-1] else certificates
    for certificate, issuer in zip(path, [*path[1:], path[-1]]):
        check_issued_by(certificate, issuer)
    for certificate in path:
        if not validity(certificate, "before") <= now <= validity(certificate, "after"):
            raise Refused("a certificate is not valid at present")
    return [certificate.public_bytes(Encoding.PEM) for certificate in certificates[:-1]]


def validity(certificate, which):
    """Newer versions of the library warn about times without a zone; Debian 12 has no others."""
    aware = getattr(certificate, f"not_valid_{which}_utc", None)
    return aware or getattr(certificate, f"not_valid_{which}").replace(tzinfo=datetime.timezone.utc)


def check_issued_by(certificate, issuer):
    key, digest = issuer.public_key(), certificate.signature_hash_algorithm
    try:
        constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        if certificate.issuer != issuer.subject or not constraints.ca:
            raise Refused("the chain has a gap, or a certificate that is not one of a CA")
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, padding.PKCS1v15(), digest)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(certificate.signature, certificate.tbs_certificate_bytes, ec.ECDSA(digest))
        else:
            raise Refused("an issuer has a key of another kind")
    except (InvalidSignature, ValueError, x509.ExtensionNotFound):
        raise Refused("a certificate of the chain is not signed by the next one") from None


def accepts(accepted, name):
    name = name.lower()
    return any(
        name == entry or (entry.startswith("*.") and name.endswith(entry[1:]) and len(name) > len(entry) - 1)
        for entry in accepted
    )


# Files


def sync_folder(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def write_file(path, data, mode=0o600):
    scratch = f"{path}.new"
    with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(scratch, path)
    sync_folder(os.path.dirname(path))


class State:
    """Everything that survives a restart."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "keys"), mode=0o700, exist_ok=True)

    def load(self, name, default):
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                return json.load(file)
        except FileNotFoundError:
            return default

    def store(self, name, value):
        write_file(os.path.join(self.folder, name), json.dumps(value).encode())

    def key(self, order, spki):
        """None also for the key of another order: a server could exchange the certificates of two orders."""
        stored = self.load(os.path.join("keys", spki), None)
        return base64.b64decode(stored["pkcs8"]) if stored is not None and stored["order"] == order else None

    def store_key(self, order, spki, pkcs8):
        self.store(os.path.join("keys", spki), {"order": order, "pkcs8": base64.b64encode(pkcs8).decode()})


def install(folder, order, sha256, pems, pkcs8):
    base = os.path.join(folder, folder_of(order))
    version = os.path.join(base, "versions", sha256)
    os.makedirs(version, mode=0o700, exist_ok=True)
    key = load_der_private_key(pkcs8, None)
    write_file(
        os.path.join(version, "privkey.pem"), key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    write_file(os.path.join(version, "fullchain.pem"), b"".join(pems), 0o644)
    sync_folder(os.path.dirname(version))
    link = os.path.join(base, "current.new")
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(os.path.join("versions", sha256), link)
    os.replace(link, os.path.join(base, "current"))
    sync_folder(base)


# Requests


class Server:
    def __init__(self, url, identity, ca_file=None):
        parts = urllib.parse.urlsplit(url)
        is_loopback = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if parts.path not in ("", "/") or (parts.scheme != "https" and not (parts.scheme == "http" and is_loopback)):
            raise Refused("the server is https://HOST[:PORT]")
        self.host, self.port, self.is_tls = parts.hostname, parts.port, parts.scheme == "https"
        self.tls = ssl.create_default_context(cafile=ca_file)
        self.identity = identity
        self.offset_s = 0.0

    def now(self):
        return time.time() + self.offset_s

    def request(self, method, path, query="", body=None, wait=0):
        status, headers, data = self.send(method, path, query, body, wait)
        error = self.error_of(status, headers, data)
        if error is not None and error.code == "clock_skew":
            self.take_time(headers)
            status, headers, data = self.send(method, path, query, body, wait)
            error = self.error_of(status, headers, data)
        self.take_time(headers)
        if error is not None:
            raise error
        return None if status == 204 else read_json(data)

    def take_time(self, headers):
        sent = email.utils.parsedate_to_datetime(headers["Date"]) if headers.get("Date") else None
        if sent is not None:
            # Date has whole seconds: half of one is the expected rest.
            self.offset_s = sent.timestamp() + 0.5 - time.time()

    def send(self, method, path, query, body, wait):
        data = b"" if body is None else json.dumps(body).encode()
        headers, _ = sign_request(method, path, query, data, self.identity, int(self.now()))
        if body is not None:
            headers["Content-Type"] = "application/json"
        timeout = MAX_SILENCE_S + wait
        if self.is_tls:
            connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=self.tls)
        else:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path + query, body=data if body is not None else None, headers=headers)
            response = connection.getresponse()
            received = response.read(MAX_RESPONSE_BYTES + 1)
            if len(received) > MAX_RESPONSE_BYTES:
                raise Refused("the response is too large")
            return response.status, response.headers, received
        finally:
            connection.close()

    @staticmethod
    def error_of(status, headers, data):
        if status in (200, 204):
            return None
        try:
            error = read_json(data)
        except Refused:
            error = {}
        retry_after = headers.get("Retry-After", "")
        return ServerError(
            status,
            error.get("code", ""),
            json.dumps(error)[:500],
            min(int(retry_after), 3600) if retry_after.isdecimal() else None,
        )


def segment(name):
    return urllib.parse.quote(name, safe="!~*'()")


# The agent


class Agent:
    def __init__(self, server, state, install_folder, accepted):
        self.server, self.state = server, state
        self.install_folder, self.accepted = install_folder, accepted
        host = state.load("agent.json", {})
        self.cluster, self.cluster_key = host["cluster"], host["cluster_key"]
        self.identity = Ed25519PrivateKey.from_private_bytes(from_b64url(host["identity"], 32))
        self.sealing = X25519PrivateKey.from_private_bytes(from_b64url(host["sealing"], 32))
        self.id = agent_id(raw_public(self.identity))
        self.members, self.members_version = {}, None
        self.orders, self.problem, self.listed = {}, None, set()

    def poll(self, after, wait):
        """One request for changes. Returns the next `after` and whether to request again at once."""
        state = self.server.request("GET", f"{BASE}/state", f"?after={after}&wait={wait}", wait=wait)
        if state is None:
            return after, False
        if state.get("reset"):
            return 0, True
        cluster = state["cluster"]
        if cluster["name"] != self.cluster or cluster["cluster_key"] != self.cluster_key:
            raise Refused("the server names another cluster or cluster key than the one of the enrolment")
        if state["members_version"] != self.members_version:
            self.read_members(state["members_version"])
        for order in state["orders"]:
            self.orders[order["name"]] = order
            self.work_on(order)
        self.release(state, after)
        if not state["more"]:
            self.report()
        return state["version"], state["more"]

    def release(self, state, after):
        left = set(state["released"])
        if after == 0:
            self.listed = set()
        if self.listed is not None:
            self.listed |= {order["name"] for order in state["orders"]}
            if not state["more"]:
                left |= set(self.orders) - self.listed
                self.listed = None
        for name in left & set(self.orders):
            del self.orders[name]

    def read_members(self, version):
        response = self.server.request("GET", f"{BASE}/members")
        memory = self.state.load("members.json", {"times": {}, "gone": []})
        times, gone, members = memory["times"], set(memory["gone"]), {}
        self.problem = None
        for listed in response["members"]:
            ident = listed["agent_id"]
            try:
                if self.cluster_key is None:
                    continue
                identity_key, sealing_key, at = read_statement(listed["statement"], from_b64url(self.cluster_key, 32))
                same = from_b64url(listed["identity_key"]) == identity_key and agent_id(identity_key) == ident
                if not same or from_b64url(listed["sealing_key"]) != sealing_key:
                    raise Refused("its statement is about other keys")
                if ident in gone or at < times.get(ident, ""):
                    raise Refused("it was removed, or its statement is an old one")
                check_sealing_key(sealing_key)
                members[ident] = (identity_key, sealing_key, at)
            except Refused as refusal:
                self.problem = f"member {ident} is refused: {refusal}"
                print(self.problem, file=sys.stderr)
        present = {listed["agent_id"] for listed in response["members"]}
        gone |= set(times) - present
        times = {ident: at for ident, at in times.items() if ident not in gone}
        times.update({ident: at for ident, (_, _, at) in members.items()})
        self.state.store("members.json", {"times": times, "gone": sorted(gone)})
        self.members, self.members_version = members, version

    def work_on(self, order):
        try:
            for task in order["tasks"]:
                if task["type"] == "make_key":
                    self.make_key(order, task)
                elif task["type"] == "seal_key_for":
                    self.seal_for(order, task)
            order["result"] = self.bring_up_to_date(order)
        except (Refused, *MALFORMED) as refusal:
            order["result"] = ("failed", None, f"{type(refusal).__name__}: {refusal}")
        except ServerError as error:
            if error.status not in (400, 404, 409):
                raise
            order["result"] = ("failed", None, str(error))

    def make_key(self, order, task):
        if not order["dns_names"] or not all(accepts(self.accepted, name) for name in order["dns_names"]):
            raise Refused("the order has no names, or names that this host does not accept")
        made = self.state.load("tasks.json", {})
        if task["id"] in made:
            spki, csr = made[task["id"]]["spki"], made[task["id"]]["csr"]
            pkcs8 = self.state.key(order["name"], spki)
        else:
            key = self.new_key(order)
            pkcs8, spki = pkcs8_of(key), spki_hash(key.public_key())
            self.state.store_key(order["name"], spki, pkcs8)
            csr = base64.b64encode(make_csr(key, order["dns_names"])).decode()
            made[task["id"]] = {"spki": spki, "csr": csr}
            self.state.store("tasks.json", made)
        path = f"{BASE}/orders/{segment(order['name'])}/csr"
        for _ in range(3):
            keys = [self.seal(order["name"], spki, pkcs8, ident) for ident in self.members if ident != self.id]
            try:
                self.server.request("POST", path, body={"task": task["id"], "csr": csr, "keys": keys})
                return
            except ServerError as error:
                if error.code == "not_asked":
                    return
                if error.code != "members_changed":
                    raise
                self.read_members(None)

    @staticmethod
    def new_key(order):
        accepted = order["accepts"]
        if order["key_type"] == "ecdsa":
            curve = ec.SECP256R1() if "P-256" in accepted["ecdsa"] else ec.SECP384R1()
            return ec.generate_private_key(curve)
        return rsa.generate_private_key(65537, 2048 if 2048 in accepted["rsa"] else min(accepted["rsa"]))

    def seal(self, order, spki, pkcs8, ident):
        return seal_key(pkcs8, self.cluster, order, spki, self.identity, ident, self.members[ident][1])

    def seal_for(self, order, task):
        spki = task["spki_sha256"]
        pkcs8 = self.state.key(order["name"], spki) if is_hash(spki) else None
        receivers = [ident for ident in task["members"] if ident in self.members and ident != self.id]
        if pkcs8 is None or not receivers:
            return
        keys = [self.seal(order["name"], spki, pkcs8, ident) for ident in receivers]
        self.server.request("POST", f"{BASE}/orders/{segment(order['name'])}/keys/{spki}", body={"keys": keys})

    def bring_up_to_date(self, order):
        """Returns state, hash of the installed certificate, problem."""
        current = order["certificate"]
        if current is None:
            return "waiting", None, None
        if not is_hash(current["sha256"]) or not is_hash(current["spki_sha256"]):
            raise Refused("the hashes of the certificate are not hashes")
        name, spki = order["name"], current["spki_sha256"]
        pkcs8 = self.state.key(name, spki) or self.fetch_key(name, spki)
        if pkcs8 is None:
            return "no_key", None, "no member has sealed the key for this host"
        if order["install"] == "hold":
            return "held", None, "another host goes first"
        message = self.server.request("GET", f"{BASE}/certificates/{current['sha256']}")
        now = datetime.datetime.fromtimestamp(self.server.now(), datetime.timezone.utc)
        pems = check_certificate(message, current["sha256"], spki, self.accepted, now)
        install(self.install_folder, name, current["sha256"], pems, pkcs8)
        return "installed", current["sha256"], None

    def fetch_key(self, order, spki):
        response = self.server.request("GET", f"{BASE}/orders/{segment(order)}/keys/{spki}")
        for sealed in response["keys"]:
            sender = self.members.get(sealed["sender"])
            if sender is None:
                continue
            try:
                pkcs8 = open_key(sealed, self.cluster, order, spki, self.id, self.sealing, sender[0])
            except Refused as refusal:
                print(f"a sealed key of {order!r} is refused: {refusal}", file=sys.stderr)
                continue
            self.state.store_key(order, spki, pkcs8)
            return pkcs8
        return None

    def report(self):
        number = self.state.load("report.json", 0) + 1
        self.state.store("report.json", number)
        at = datetime.datetime.fromtimestamp(self.server.now(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        installations = [
            {
                "order": name,
                "point": "folder",
                "state": order["result"][0],
                "certificate_sha256": order["result"][1],
                "served": [],
                "since": at,
                "problem": order["result"][2] and order["result"][2][:500],
            }
            for name, order in self.orders.items()
        ]
        agent = {"version": VERSION, "platform": sys.platform, "problem": self.problem and self.problem[:500]}
        for start in range(0, max(len(installations), 1), 100):
            page = installations[start : start + 100]
            body = {"number": number, "sent_at": at, "agent": agent, "installations": page}
            self.server.request("POST", f"{BASE}/reports", body=body)
            number += 1
            self.state.store("report.json", number)


def make_csr(key, names):
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    extension = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
    return builder.add_extension(extension, critical=False).sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


# Commands


def enrol(options):
    prefix, _, rest = sys.stdin.read(1000).strip().partition(".")
    token, _, seed = rest.partition(".")
    if prefix != "cwj1":
        raise Refused("standard input has no join string")
    from_b64url(token, 32)
    state = State(options.state)
    host = state.load("agent.json", None)
    if host is None:
        host = {
            "identity": b64url(raw_private(Ed25519PrivateKey.generate())),
            "sealing": b64url(raw_private(X25519PrivateKey.generate())),
        }
        state.store("agent.json", host)
    identity = Ed25519PrivateKey.from_private_bytes(from_b64url(host["identity"], 32))
    identity_key = raw_public(identity)
    sealing_key = raw_public(X25519PrivateKey.from_private_bytes(from_b64url(host["sealing"], 32)))
    cluster_key = Ed25519PrivateKey.from_private_bytes(from_b64url(seed, 32)) if seed else None
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if cluster_key is not None and "statement" not in host:
        # The same statement after a crash: the request is a repetition then.
        host["statement"] = make_statement(cluster_key, identity_key, sealing_key, at)
        state.store("agent.json", host)
    body = {
        "token": token,
        "identity_key": b64url(identity_key),
        "sealing_key": b64url(sealing_key),
        "statement": host.get("statement"),
        "name": options.name,
        "version": VERSION,
        "platform": sys.platform,
    }
    response = Server(options.server, identity, options.ca_file).request("POST", f"{BASE}/enrol", body=body)
    expected = None if cluster_key is None else b64url(raw_public(cluster_key))
    if response["agent_id"] != agent_id(identity_key) or response["cluster"]["cluster_key"] != expected:
        raise Refused("the server responds with another agent or cluster key")
    host.update({"cluster": response["cluster"]["name"], "cluster_key": expected})
    state.store("agent.json", host)
    print(json.dumps({"agent_id": agent_id(identity_key), "cluster": host["cluster"]}))


def run(options):
    state = State(options.state)
    identity = Ed25519PrivateKey.from_private_bytes(from_b64url(state.load("agent.json", {})["identity"], 32))
    agent = Agent(Server(options.server, identity, options.ca_file), state, options.install, options.accept)
    after, backoff_s, again = 0, 2, True
    while True:
        try:
            after, again = agent.poll(after, 0 if again or options.once else WAIT_S)
            backoff_s = 2
            if options.once and not again:
                return
        except (Refused, ServerError, OSError, http.client.HTTPException, *MALFORMED) as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            if options.once:
                sys.exit(1)
            wait_s = getattr(error, "retry_after", None) or backoff_s / 1.5
            if getattr(error, "status", None) == 401:
                wait_s = 600
            time.sleep(wait_s * random.uniform(0.75, 1.5))
            backoff_s = min(backoff_s * 2, 60)
            after, again = 0, True


def vectors():
    """Keys are bytes that count up, so that everything but a CSR follows."""

    def counting(first):
        return bytes(range(first, first + 32))

    cluster_key = Ed25519PrivateKey.from_private_bytes(counting(0x00))
    order, cluster, created = "www.example.com", "web", 1795521600
    agents, secrets = {}, {}
    for name, first in (("a", 0x20), ("b", 0x60)):
        identity = Ed25519PrivateKey.from_private_bytes(counting(first))
        sealing = X25519PrivateKey.from_private_bytes(counting(first + 0x20))
        secrets[name] = (identity, sealing)
        agents[name] = {
            "identity_seed": raw_private(identity).hex(),
            "identity_key": b64url(raw_public(identity)),
            "sealing_private_key": counting(first + 0x20).hex(),
            "sealing_key": b64url(raw_public(sealing)),
            "agent_id": agent_id(raw_public(identity)),
            "statement": make_statement(cluster_key, raw_public(identity), raw_public(sealing), "2026-11-24T12:00:00Z"),
        }
    requests = []
    for method, path, query, body in (
        ("GET", f"{BASE}/state", "?after=0&wait=50", ""),
        ("GET", f"{BASE}/members", "", ""),
        ("POST", f"{BASE}/orders/{segment('a b/ü')}/csr", "", '{"task":"1"}'),
    ):
        headers, base = sign_request(method, path, query, body.encode(), secrets["a"][0], created)
        requests.append(
            {
                "method": method,
                "path": path,
                "query": query,
                "body": body,
                "created": created,
                "signature_base": base,
                "headers": {name.lower(): value for name, value in headers.items()},
            }
        )
    key = ec.derive_private_key(int.from_bytes(counting(0xA0), "big"), ec.SECP256R1())
    spki = spki_hash(key.public_key())
    ephemeral = X25519PrivateKey.from_private_bytes(counting(0xC0))
    id_b, sealing_b = agents["b"]["agent_id"], raw_public(secrets["b"][1])
    sealed = seal_key(pkcs8_of(key), cluster, order, spki, secrets["a"][0], id_b, sealing_b, ephemeral)
    info = key_info(cluster, order, spki, sealed["sender"], id_b)
    signed = signed_key_bytes(info, from_b64url(sealed["enc"]), from_b64url(sealed["ciphertext"]))
    names = ["www.example.com", "*.example.com", "Shop", "../../etc/cron.d/x", ".hidden", "a\nb", "müller", "%2E"]
    return {
        "cluster": {
            "name": cluster,
            "seed": counting(0).hex(),
            "cluster_key": b64url(raw_public(cluster_key)),
            "cluster_key_sha256": sha256_hex(raw_public(cluster_key)),
        },
        "agents": agents,
        "join_string": f"cwj1.{b64url(counting(0xE0))}.{b64url(counting(0))}",
        "requests": requests,
        "sealed_key": {
            "order": order,
            "pkcs8": base64.b64encode(pkcs8_of(key)).decode(),
            "spki_sha256": spki,
            "ephemeral_private_key": raw_private(ephemeral).hex(),
            "info": info.hex(),
            "signed": signed.hex(),
            "message": sealed,
        },
        "folders": {name: folder_of(name) for name in [*names, "a" * 200, "a" * 201]},
    }


def main():
    parser = argparse.ArgumentParser(description="An agent of Certwright in Python.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("enrol", "run"):
        command = commands.add_parser(name)
        command.add_argument("--server", required=True)
        command.add_argument("--state", required=True)
        command.add_argument("--ca-file")
        if name == "enrol":
            command.add_argument("--name", required=True)
        else:
            command.add_argument("--install", required=True)
            command.add_argument("--accept", action="append", required=True)
            command.add_argument("--once", action="store_true")
    for name in ("vectors", "seal", "open"):
        commands.add_parser(name)
    options = parser.parse_args()
    try:
        if options.command == "enrol":
            enrol(options)
        elif options.command == "run":
            run(options)
        elif options.command == "vectors":
            print(json.dumps(vectors(), ensure_ascii=False, indent=2))
        else:
            given = json.load(sys.stdin)
            print(json.dumps(seal_one(given) if options.command == "seal" else open_one(given)))
    except (Refused, ServerError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)


def seal_one(given):
    identity = Ed25519PrivateKey.from_private_bytes(from_b64url(given["identity"], 32))
    receiver_key = from_b64url(given["receiver_sealing_key"], 32)
    binding = (given["cluster"], given["order"], given["spki_sha256"])
    return seal_key(from_b64(given["pkcs8"], 8192), *binding, identity, given["receiver"], receiver_key)


def open_one(given):
    sealing = X25519PrivateKey.from_private_bytes(from_b64url(given["sealing"], 32))
    binding = (given["cluster"], given["order"], given["spki_sha256"])
    sender_key = from_b64url(given["sender_identity_key"], 32)
    pkcs8 = open_key(given["message"], *binding, given["receiver"], sealing, sender_key)
    return {"pkcs8": base64.b64encode(pkcs8).decode()}


if __name__ == "__main__":
    main()
