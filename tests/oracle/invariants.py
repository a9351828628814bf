"""Results of operators whose meaning leaves a choice, as what every choice shares."""

TABLE: dict = {}
