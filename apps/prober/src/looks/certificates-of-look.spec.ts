import { CertificatesOfLook } from './certificates-of-look';

const der = (text: string) => Buffer.from(text);

describe('the certificates of a look', () => {
  it('are listed once, in base64', () => {
    const certificates = new CertificatesOfLook(100);
    expect(certificates.add([der('leaf'), der('ca')])).toEqual([0, 1]);
    expect(certificates.add([der('other'), der('ca'), der('other')])).toEqual([2, 1, 2]);
    expect(certificates.list).toEqual(['leaf', 'ca', 'other'].map((text) => der(text).toString('base64')));
  });

  it('have a maximum of bytes, and a chain beyond it changes nothing', () => {
    const certificates = new CertificatesOfLook(10);
    expect(certificates.add([der('12345')])).toEqual([0]);
    expect(certificates.add([der('abc'), der('def')])).toBeNull();
    expect(certificates.add([der('12345'), der('67890')])).toEqual([0, 1]);
    expect(certificates.add([der('x')])).toBeNull();
    expect(certificates.list).toHaveLength(2);
  });
});
