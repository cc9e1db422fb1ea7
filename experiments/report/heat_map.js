// Shows the value of the cell of a heat map that the pointer is at.
(function () {
  'use strict';
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  document.body.append(tip);

  // "row ← column: value", or '' outside of the cells.
  function textAt(figure, event) {
    const cells = Array.from(figure.querySelectorAll('[data-values]'))
        .find(function (group) { return group.getClientRects().length > 0; });
    if (!cells) return '';
    // One unit a cell; a row's line runs through its middle.
    const place = new DOMPoint(event.clientX, event.clientY)
        .matrixTransform(cells.getScreenCTM().inverse());
    const column = Math.floor(place.x);
    const row = Math.floor(place.y + 0.5);
    const rows = figure.dataset.rows.split('\n');
    const columns = figure.dataset.columns.split('\n');
    if (!(row in rows) || !(column in columns)) return '';
    const text = cells.dataset.values.split(',')[row * columns.length + column];
    const value = isNaN(text) ? text : (text / 1000).toFixed(3);
    return rows[row] + ' ← ' + columns[column] + ': ' + value;
  }

  function show(event) {
    const figure = event.target.closest('figure.hm');
    tip.textContent = figure ? textAt(figure, event) : '';
    tip.hidden = tip.textContent === '';
    if (tip.hidden) return;
    const left = Math.min(event.clientX + 14,
                          document.documentElement.clientWidth -
                              tip.offsetWidth - 4);
    tip.style.left = Math.max(left, 4) + 'px';
    tip.style.top = event.clientY + 18 + 'px';
  }

  document.addEventListener('pointermove', show);
  document.addEventListener('pointerdown', show);
  document.addEventListener('scroll', function () { tip.hidden = true; }, true);
})();
