import type { Parts } from '../parts';
import { FirehoseController } from './firehose.controller';

export const firehose: Parts = { controllers: [FirehoseController], providers: [] };
