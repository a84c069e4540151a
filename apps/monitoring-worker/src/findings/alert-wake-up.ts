import { WakeUp } from '@certwright/service';
import { Injectable } from '@nestjs/common';

/** Starts the alerts of findings at once that this process recorded; those of other processes are found by polling. */
@Injectable()
export class AlertWakeUp extends WakeUp {}
