/** Made by OpenSSL, with one key on P-256 unless stated otherwise. The names are example.com and *.example.com. */

/** SHA-256 over the SubjectPublicKeyInfo. */
export const keySha256 = '8bbfb1f2916f9ca45160fcd0a113d8ac2ac1eedef8a6208e8b1f886184527183';

/** SHA-256 over the TBSCertificate that `precertificatePem` and `certificatePem` share, as `openssl asn1parse` extracts it from the same
 * certificate without poison and SCT list. */
export const tbsSha256 = '6f8a53911feca9ea005b4a87ab623cf6d239d33608ebac1996219fefcd88bbdb';

/** With the name Example.com, in mixed case. */
export const csrPem = `-----BEGIN CERTIFICATE REQUEST-----
MIHxMIGaAgEAMAAwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASGZkFQ4prwkqcq
VgcjC8+QLn+TNi5a8Nzw4NGocE2BtqDSIQGfy4WAHWdmXD2HFrWXpRjD1uLAsCSx
+2LxrP4YoDgwNgYJKoZIhvcNAQkOMSkwJzAlBgNVHREEHjAcggtFeGFtcGxlLmNv
bYINKi5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNGADBDAh8uY26b+L7dA7fkloFU
ijum6kjnz/AxmXy1P4eWME74AiBLCGWM0uhwBbCsjf8/F1bL43u1vdqX5oLlgqE3
qwhaMw==
-----END CERTIFICATE REQUEST-----
`;

/** With the names example.com and localhost, and an IP address. */
export const localCsrPem = `-----BEGIN CERTIFICATE REQUEST-----
MIH0MIGcAgEAMAAwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASGZkFQ4prwkqcq
VgcjC8+QLn+TNi5a8Nzw4NGocE2BtqDSIQGfy4WAHWdmXD2HFrWXpRjD1uLAsCSx
+2LxrP4YoDowOAYJKoZIhvcNAQkOMSswKTAnBgNVHREEIDAeggtleGFtcGxlLmNv
bYIJbG9jYWxob3N0hwTAAAIBMAoGCCqGSM49BAMCA0cAMEQCIEknSJBOg6HgQrpT
Ik7hvh2/f2DF5JNA21D3sXsLVX9mAiAeBW0PVuUDLKDo6I8Ec/uXaYlimKeKhYLV
h8kFyxt8YQ==
-----END CERTIFICATE REQUEST-----
`;

/** Without subject alternative names. */
export const csrWithoutNamesPem = `-----BEGIN CERTIFICATE REQUEST-----
MIHPMHgCAQAwFjEUMBIGA1UEAwwLZXhhbXBsZS5jb20wWTATBgcqhkjOPQIBBggq
hkjOPQMBBwNCAASGZkFQ4prwkqcqVgcjC8+QLn+TNi5a8Nzw4NGocE2BtqDSIQGf
y4WAHWdmXD2HFrWXpRjD1uLAsCSx+2LxrP4YoAAwCgYIKoZIzj0EAwIDRwAwRAIg
O0tFInif3w1DnJF8xD1AGskAVBpM22JFz7d6DAZ9SPwCIGYy/wvl49mKTZaqKQS5
ZATDqe5Q1SkOlBKGOTDpnMkV
-----END CERTIFICATE REQUEST-----
`;

/** With an RSA key of 1024 bits. */
export const rsa1024CsrPem = `-----BEGIN CERTIFICATE REQUEST-----
MIIBaDCB0gIBADAAMIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDtOQXjCwTY
26UAEAQ3t2IxshZzwFaatwuLfMoRw6YoMSAoTRL8RivOicNZ42n6GU4f8Rr2ifau
a/MxTNsjRlLUBPCbM2PczUtmb9NAKbPpmWYOnulCMZgXXdHxkDvIboELXXWEZU15
BzNAIfhU+kCpntEuIXN7hIkpetNOxBkS/wIDAQABoCkwJwYJKoZIhvcNAQkOMRow
GDAWBgNVHREEDzANggtleGFtcGxlLmNvbTANBgkqhkiG9w0BAQsFAAOBgQDj7kmy
c/4RLUwWlfRGRECsqYLV/zvgFOXgKQIqv7iJereZFDKnDmwUH/CvkEHZ+mAoWr3E
a8RZEBjo1LzqerfmL00Mh5/wNJd24b7XxxZBsFb0+p5fH7HmPD7RUH1tt1GrJFKx
6yO2Y6d1pvy1n/a7CYEWHjCFinD6HKeQOfpBUg==
-----END CERTIFICATE REQUEST-----
`;

/** With the poison extension. */
export const precertificatePem = `-----BEGIN CERTIFICATE-----
MIIBeTCCAR+gAwIBAgICEjQwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLZXhhbXBs
ZS5jb20wHhcNMjYwMTAxMDAwMDAwWhcNMjYxMjMxMDAwMDAwWjAWMRQwEgYDVQQD
DAtleGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIZmQVDimvCS
pypWByMLz5Auf5M2Llrw3PDg0ahwTYG2oNIhAZ/LhYAdZ2ZcPYcWtZelGMPW4sCw
JLH7YvGs/hijXTBbMCUGA1UdEQQeMByCC2V4YW1wbGUuY29tgg0qLmV4YW1wbGUu
Y29tMBMGCisGAQQB1nkCBAMBAf8EAgUAMB0GA1UdDgQWBBQ2yH391pA+G3oRUYb8
QAAf8Mrk9TAKBggqhkjOPQQDAgNIADBFAiBOC6fd4PH4Sijnfr+30/lWSM6O9jf1
uEDvnhBhnGGTjgIhALTdojxtzeYjzw8RLCNrhDYxB4E7vrPvlEuOLRn9afMv
-----END CERTIFICATE-----
`;

/** With an SCT list. */
export const certificatePem = `-----BEGIN CERTIFICATE-----
MIIBdzCCAR6gAwIBAgICEjQwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLZXhhbXBs
ZS5jb20wHhcNMjYwMTAxMDAwMDAwWhcNMjYxMjMxMDAwMDAwWjAWMRQwEgYDVQQD
DAtleGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIZmQVDimvCS
pypWByMLz5Auf5M2Llrw3PDg0ahwTYG2oNIhAZ/LhYAdZ2ZcPYcWtZelGMPW4sCw
JLH7YvGs/hijXDBaMCUGA1UdEQQeMByCC2V4YW1wbGUuY29tgg0qLmV4YW1wbGUu
Y29tMBIGCisGAQQB1nkCBAIEBAQCq80wHQYDVR0OBBYEFDbIff3WkD4behFRhvxA
AB/wyuT1MAoGCCqGSM49BAMCA0cAMEQCICkfGDLFHeihXSnE9KtJAKUL+Pgw1Vvt
oTu8WmAxSSoQAiAhuC5gJyyyh+vVqt/4rVgGEDCMbOp5o8oL7rt2D/LFhg==
-----END CERTIFICATE-----
`;
