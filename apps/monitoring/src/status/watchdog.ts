import { Round, RunningProcess } from '@certwright/service';
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { BehindNotices } from './behind-notices';
import { type Follower, Following, indexDelayS } from './following';

/** Seconds behind: when the operator is alarmed, when accounts are notified, and below which it is over. */
const thresholdsS = { alarm: 15 * 60, notice: 60 * 60, over: 5 * 60 } as const;

/** Between rounds. */
const restMs = 60_000;

/** Notices that monitoring is behind. In this process, because `monitoring-worker` may be what does not work. */
@Injectable()
export class Watchdog {
  private readonly behind: Gauge;
  /** When this process first found that nothing had been followed yet, ms. */
  private unfollowedSinceMs: number | null = null;
  private isAlarmed = false;

  constructor(
    private readonly following: Following,
    private readonly notices: BehindNotices,
    private readonly running: RunningProcess,
  ) {
    this.behind = new Gauge({
      name: 'certwright_monitoring_behind_seconds',
      help: 'How old what was matched with monitored domains is; above 900 an operator has to look',
      registers: [running.metrics.registry],
    });
  }

  /** Several copies may do it: each account is notified once. */
  @Round('watchdog')
  async round(): Promise<number> {
    const { following } = this;
    const [follower, logs, nowMs] = await Promise.all([
      following.follower(),
      following.logs(),
      following.nowMs(),
    ]);
    const workerS = this.workerDelayS(follower, nowMs);
    const indexS = logs === null ? 0 : indexDelayS(logs, nowMs);
    const behindS = Math.max(workerS, indexS);
    this.behind.set(behindS);
    // Without the ct database, it is not known whether the index is behind.
    const isOver = logs !== null && behindS <= thresholdsS.over;
    this.alarm({ behindS, isOver }, { worker_s: Math.round(workerS), index_s: Math.round(indexS) });
    const since = new Date(nowMs - 1_000 * behindS);
    const followedTo = follower === null || since < follower.followed_to ? since : follower.followed_to;
    if (behindS >= thresholdsS.notice) return (await this.notices.behind({ since, followedTo })) ? 0 : restMs;
    if (isOver) return (await this.notices.caughtUp(followedTo)) ? 0 : restMs;
    return restMs;
  }

  private workerDelayS(follower: Follower | null, nowMs: number): number {
    if (follower !== null) {
      this.unfollowedSinceMs = null;
      return follower.lag_s;
    }
    this.unfollowedSinceMs ??= nowMs;
    return (nowMs - this.unfollowedSinceMs) / 1_000;
  }

  private alarm({ behindS, isOver }: { behindS: number; isOver: boolean }, parts: object): void {
    const members = { behind_s: Math.round(behindS), ...parts };
    if (!this.isAlarmed && behindS >= thresholdsS.alarm) {
      this.isAlarmed = true;
      this.running.log.error({ alarm: 'monitoring_behind', ...members }, 'ALARM: monitoring is behind');
    } else if (this.isAlarmed && isOver) {
      this.isAlarmed = false;
      this.running.log.info({ alarm_over: 'monitoring_behind', ...members }, 'monitoring has caught up');
    }
  }
}
