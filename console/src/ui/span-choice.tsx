import { Button, SegmentedControl } from '@mantine/core';
import { compact } from '../../../shared/collections/defined';
import { type Span, SPANS } from '../lib/spans';
import { text } from '../texts';

const words = text.ui.spanChoice;

interface Props {
  size: 'xs' | 'sm';
  spans?: readonly Span[];
  /** name of the chosen span */
  value: string;
  onChange: (name: string) => void;
  /** leaves the time that somebody has dragged over in a chart; undefined: the span is shown */
  onZoomOut?: (() => void) | undefined;
}

/** Chooses the time that charts show. */
export function SpanChoice({ size, spans = SPANS, value, onChange, onZoomOut }: Props) {
  const isZoomed = onZoomOut !== undefined;
  return (
    <>
      {isZoomed && (
        <Button size={size} variant="default" onClick={onZoomOut}>
          {words.zoomOut}
        </Button>
      )}
      <SegmentedControl
        size={size}
        aria-label={words.time}
        data={compact([
          isZoomed ? { value: ZOOMED, label: words.selectedInChart } : undefined,
          ...spans.map((span) => ({ value: span.name, label: span.label })),
        ])}
        value={isZoomed ? ZOOMED : value}
        onChange={(name) => {
          if (name !== ZOOMED) onChange(name);
        }}
      />
    </>
  );
}

const ZOOMED = 'zoom';
