import type { Parts } from '../parts';
import { CertificatesController } from './certificates.controller';

export const certificates: Parts = { controllers: [CertificatesController], providers: [] };
