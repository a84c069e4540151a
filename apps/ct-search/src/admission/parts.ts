import type { Parts } from '../parts';
import { Admission } from './admission';

export const admission: Parts = { controllers: [], providers: [Admission] };
