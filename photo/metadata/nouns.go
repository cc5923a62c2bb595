package metadata

import "strings"

// personNouns are case-folded ordinary nouns for people, in the languages of
// faceRoots. Below a face root they are keywords, not names. Words for
// relatives, such as "mother", are omitted, because families use them as names.
var personNouns = func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(`
		man men woman women child children kid kids baby babies toddler toddlers boy boys girl girls
		teenager teenagers adult adults people person persons human humans crowd couple couples family
		families friend friends group groups lady ladies gentleman gentlemen
		mann männer frau frauen kind kinder baby babys kleinkind junge jungen bub buben mädchen jugendliche
		erwachsene leute mensch menschen person personen menge paar paare familie familien freunde gruppe
		gruppen dame damen herr herren
		homme hommes femme femmes enfant enfants bébé bébés garçon garçons fille filles adolescent
		adolescents adulte adultes gens personne personnes foule couple famille amis groupe
		hombre hombres mujer mujeres niño niños niña niñas bebé bebés chico chicos chica chicas adulto
		adultos gente persona personas multitud pareja familia amigos grupo
		uomo uomini donna donne bambino bambini bambina bambine neonato neonati ragazzo ragazzi ragazza
		ragazze adulti gente persone folla coppia famiglia amici gruppo
		homem homens mulher mulheres criança crianças bebê menino meninos menina meninas pessoa pessoas
		multidão casal família
		mannen vrouw vrouwen kinderen peuter jongen jongens meisje meisjes volwassene volwassenen mensen
		persoon menigte stel gezin vrienden groep
		mężczyzna mężczyźni kobieta kobiety dziecko dzieci niemowlę chłopiec chłopcy dziewczyna dziewczyny
		dziewczynka dorosły ludzie osoba osoby tłum para rodzina przyjaciele grupa
		muž muži žena ženy dítě děti miminko chlapec chlapci dívka dívky dospělý lidé dav pár rodina
		přátelé skupina
		мужчина мужчины женщина женщины ребёнок ребенок дети младенец мальчик мальчики девочка девочки
		девушка девушки взрослый люди человек толпа пара семья друзья группа
		男人 女人 孩子 儿童 婴儿 男孩 女孩 人 人物 人群 夫妇 家庭 朋友 男性 女性 子供 赤ちゃん 男の子 女の子 人々 群衆 家族 友達`) {
		words[Fold(w)] = true
	}
	return words
}()
